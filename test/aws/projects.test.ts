import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { z } from 'zod';
import { type Reply, registered } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import config from './app/parley.config.ts';
import { runParley } from './running-parley.ts';
import { allItems } from './stored-items.ts';

const parley = await runParley({ after });
const PROJECTS = Object.keys(config.projects);

const heartbeat = (from: string) => ({
  id: crypto.randomUUID(),
  version: '1.0',
  type: 'heartbeat',
  from,
  timestamp: new Date().toISOString(),
  payload: { status: 'healthy', capabilities: [] },
});

/**
 * Agents of the same names in every project, and a task for each way that something comes to be stored. What it gives
 * makes an agent hold a task, should the lease be over by then.
 */
const live = async (project: string): Promise<() => Promise<Reply>> => {
  const admin = await parley.adminOf(project);
  const tim = await registered(parley.transport, admin, 'tim', {});
  const galahad = await registered(parley.transport, admin, 'galahad');
  const gawain = await registered(parley.transport, admin, 'gawain', {});
  assert.equal((await galahad.send(heartbeat(galahad.id))).status, 202);
  const claim = async (id: string, options: object = {}): Promise<void> => {
    const [claimed] = await galahad.claim({ wait: 10, ...options });
    assert.equal(claimed?.message.id, id, `${project} has only its own task`);
  };
  const done = await tim.request();
  await claim(done, { claimId: 'the same in both' });
  await galahad.progress(done);
  await galahad.complete(done);
  const failed = await tim.request({ to: galahad.id });
  await claim(failed);
  await galahad.fail(failed, { error: 'skill_missing', message: 'no' });
  const repeated = await tim.request({ priority: 'high' });
  await claim(repeated);
  await galahad.fail(repeated, { error: 'rate_limited', message: 'later', retryAfterSeconds: 0 });
  await claim(repeated);
  const expired = await tim.request({ ttl: 1, to: gawain.id });
  assert.equal((await tim.task(expired, 20)).state, 'expired');
  await tim.request({ to: galahad.id, priority: 'low' });
  const listed = async () => (await tim.call('GET', '/v1/tasks')).body.tasks.length;
  await eventually(async () => assert.equal(await listed(), 5), 30_000);
  await eventually(async () => assert.equal((await tim.inbox()).length, 3), 30_000);
  return () => galahad.progress(repeated);
};

const BusEvent = z.object({
  'detail-type': z.string(),
  detail: z.object({ project: z.string(), status: z.string().optional() }),
});

describe('two projects in one table', () => {
  it('share no partition key, of the table or of an index, but for the one of what is due', async () => {
    const holds = await Promise.all(PROJECTS.map(live));
    for (const { status } of await Promise.all(holds.map((hold) => hold()))) assert.equal(status, 202);
    const items = await allItems(parley);
    const kinds = new Set(items.map(({ sk }) => String(sk?.S).split('#')[0]));
    for (const kind of ['task', 'agent', 'health', 'key', 'history', 'delivery', 'queue-activity']) {
      assert.ok(kinds.has(kind), `nothing of the kind ${kind} among ${[...kinds]}`);
    }
    for (const attribute of ['pk', 'byListPk', 'byHolderPk']) {
      const keys = items.flatMap((item) => (item[attribute]?.S === undefined ? [] : [String(item[attribute].S)]));
      for (const project of PROJECTS) {
        assert.ok(
          keys.some((key) => key.startsWith(`${project}#`)),
          `no ${attribute} of ${project}`,
        );
      }
      assert.deepEqual(
        keys.filter((key) => !PROJECTS.some((project) => key.startsWith(`${project}#`))),
        [],
      );
    }
    // What is stored with a project must be stored under it.
    for (const { pk, project } of items) {
      if (project?.S !== undefined) assert.ok(String(pk?.S).startsWith(`${project.S}#`));
    }
    assert.deepEqual(parley.trouble, []);
  });

  it('each have a bus, whose subscriptions get what they name of their project alone', async () => {
    const Received = z.object({ Messages: z.array(z.object({ Body: z.string() })).default([]) });
    const QueueUrl = parley.queue('to-finished');
    const receive = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 };
    const { Messages: messages } = Received.parse(await parley.aws('sqs', 'ReceiveMessage', receive));
    const events = messages.map(({ Body }) => BusEvent.parse(JSON.parse(Body)));
    assert.deepEqual(
      events.map((event) => [event['detail-type'], event.detail.project, event.detail.status]),
      [['task.completed', 'default', 'completed']],
    );
    const file = join(parley.dir, 'log-groups/aws/events/parley-test/everything.log');
    const logged = readFileSync(file, 'utf8').trim().split('\n');
    const types = logged.map((line) => {
      const event = BusEvent.parse(JSON.parse(line));
      assert.equal(event.detail.project, 'lab');
      return event['detail-type'];
    });
    for (const type of ['task.requested', 'task.claimed', 'task.progress', 'task.completed', 'task.failed'])
      assert.ok(types.includes(type), type);
  });
});
