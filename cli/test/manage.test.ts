import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { startServer, tempDir } from '../../test/support/server-process.ts';
import { outboundConfig, webhookReceiver } from '../../test/support/webhook-receiver.ts';
import { EXIT } from '../command.ts';
import { createRunner } from './run-parley.ts';

const OWNER = { after };
const home = tempDir(OWNER);
const config = join(home, 'config.json');
writeFileSync(config, JSON.stringify({ ...baseConfig, ...outboundConfig }));
const server = await startServer(OWNER, { dir: tempDir(OWNER), args: ['--config', config] });
const { parley, succeeds } = createRunner(home, { PARLEY_URL: server.address, PARLEY_KEY: server.adminKey });

const requester = await server.agent('requester', { dialect: 'native' });
const worker = await server.agent('worker', { dialect: 'native', capabilities: ['home.night', 'home.day'] });

/** A task that fails for good. */
const failTask = async (capability: string, code: string): Promise<string> => {
  const id = randomUUID();
  await requester.send({ kind: 'request', id, capability, input: {} });
  const [claimed] = (await worker.call('POST', '/v1/claims', { capabilities: [capability] })).body.tasks;
  assert.equal(claimed.message.id, id);
  const { status } = await worker.send({ kind: 'failure', taskId: id, code, message: 'No.', retryable: false });
  assert.equal(status, 202);
  return id;
};

const json = async (args: string[]) => JSON.parse(await succeeds([...args, '--json']));

describe('parley dead-letters', () => {
  it('lists and retries those that a filter matches, and tells which could not be retried', async () => {
    const [dark, fog] = [await failTask('home.night', 'too_dark'), await failTask('home.day', 'fog')];
    const idsOf = (tasks: { id: string }[]): string[] => tasks.map(({ id }) => id).sort();
    assert.deepEqual(idsOf(await json(['dead-letters', 'list'])), [dark, fog].sort());
    assert.deepEqual(idsOf(await json(['dead-letters', 'list', '--error', 'fog'])), [fog]);
    assert.deepEqual(idsOf(await json(['dead-letters', 'list', '--type', 'home.night', '--since', '1h'])), [dark]);
    assert.deepEqual(idsOf(await json(['dead-letters', 'list', '--holder', 'worker', '--until', '1h'])), []);
    const { count } = await json(['dead-letters', 'retry', '--error', 'fog', '--dry-run']);
    assert.equal(count.value, 1);
    assert.match(await succeeds(['dead-letters', 'retry', '--error', 'fog']), /^completed: 1 changed/);
    const again = await parley(['dead-letters', 'retry', fog]);
    assert.equal(again.code, EXIT.rejected);
    assert.match(again.out, new RegExp(`^${fog}\t[a-z_]+\n$`));
    assert.equal((await parley(['dead-letters', 'retry', dark, '--error', 'x'])).code, EXIT.usage);
    assert.equal((await parley(['dead-letters', 'retry', '--dry-run'])).code, EXIT.usage);
  });
});

describe('parley operations', () => {
  it('lists and follows what was changed by a filter', async () => {
    const [operation] = await json(['operations', 'list']);
    assert.deepEqual([operation.kind, operation.changed], ['retry', 1]);
    assert.match(await succeeds(['operations', 'watch', operation.operationId]), /^completed: 1 changed/);
    assert.equal((await parley(['operations', 'stop', 'none'])).code, EXIT.rejected);
  });
});

describe('parley schedules', () => {
  it('makes, lists, pauses, runs and removes a schedule', async () => {
    const made = await json(['schedules', 'put', 'pulse', '*/15 * * * *', 'home.night', '{"wall": "north"}']);
    assert.deepEqual([made.status, made.nextRuns.length, made.missed], ['active', 5, 'once']);
    assert.match(await succeeds(['schedules', 'list']), /^pulse\tactive\thome.night\t\*\/15 \* \* \* \*\t/);
    assert.match(await succeeds(['schedules', 'pause', 'pulse']), /\tpaused\t/);
    const id = (await succeeds(['schedules', 'run', 'pulse'])).trim();
    const { body } = await server.admin.call('GET', `/v1/tasks/${id}`);
    assert.deepEqual([body.type, body.payload], ['home.night', { wall: 'north' }]);
    assert.match(await succeeds(['schedules', 'resume', 'pulse']), /\tactive\t/);
    const { code, err } = await parley(['schedules', 'put', 'pulse', 'daily', 'home.night']);
    assert.deepEqual([code, err.split('\n').length > 1], [EXIT.rejected, true]);
    await succeeds(['schedules', 'remove', 'pulse']);
    assert.deepEqual(await json(['schedules', 'list']), []);
  });
});

describe('parley webhooks', () => {
  it('makes and tests a webhook, prints its secret once, and shows what was sent', async () => {
    const receiver = await webhookReceiver(OWNER);
    const secret = await succeeds(['webhooks', 'put', 'chat', receiver.url, '--types', 'task.failed']);
    assert.match(secret, /^whsec_\S+\n$/);
    assert.equal(await succeeds(['webhooks', 'put', 'chat', receiver.url, '--types', 'task.failed']), '');
    assert.equal(await succeeds(['webhooks', 'list']), `chat\ton\ttask.failed\t${receiver.url}\n`);
    assert.match(await succeeds(['webhooks', 'test', 'chat']), /^delivered: 200, /);
    receiver.answers.status = 503;
    const failed = await parley(['webhooks', 'test', 'chat']);
    assert.deepEqual([failed.code, /^not delivered: 503/.test(failed.out)], [EXIT.failed, true]);
    const sent = await json(['webhooks', 'deliveries', 'chat']);
    assert.deepEqual(
      sent.map(({ status }: { status: number }) => status),
      [503, 200],
    );
    await succeeds(['webhooks', 'remove', 'chat']);
  });
});

describe('parley status and doctor', () => {
  it('tell what is wrong with the work, and what to do about it', async () => {
    const facts = await json(['status']);
    assert.ok(facts.deadLetters.value >= 1 && facts.waiting >= 1, JSON.stringify(facts));
    assert.ok(facts.lastHour.submitted >= 2);
    await succeeds(['queues', 'pause', 'capability:home.day']);
    await succeeds(['agents', 'pause', 'worker']);
    const { code, out } = await parley(['doctor']);
    assert.equal(code, EXIT.ok, out);
    assert.match(out, /^warn {2}queue +paused: capability:home\.day\n +→ parley queues resume capability:home\.day/m);
    assert.match(out, /^warn {2}agents +paused: worker\n +→ parley agents resume worker/m);
    assert.match(out, /^warn {2}failures +dead letters: 1\n +→ parley dead-letters list/m);
    await succeeds(['queues', 'resume', 'capability:home.day']);
    await succeeds(['agents', 'resume', 'worker']);
  });

  it('say whose key it is and when it ends, and what an agent may see', async () => {
    const expiresAt = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const { body } = await server.admin.call('POST', '/v1/keys', { name: 'brief', scope: 'read', expiresAt });
    const { out } = await parley(['doctor', '--key', body.key]);
    assert.match(
      out,
      /^warn {2}key +the operator's "brief", may read; ends in [23] days\n +→ parley keys rotate brief/m,
    );
    const agentKey = (await succeeds(['agents', 'add', 'watcher'])).trim();
    const own = await parley(['doctor', '--key', agentKey]);
    assert.equal(own.code, EXIT.ok, own.out);
    assert.match(own.out, /^ok {4}key +of the agent watcher, may agent/m);
    assert.match(await succeeds(['status', '--key', agentKey]), /answers/);
  });
});
