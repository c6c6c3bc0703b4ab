import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import { lockFolder } from '../../local/cloudformation-runner/folder-lock.ts';
import { callerWith, httpTransport, registered, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, Worker } from '../support/ground.ts';
import { LOOPBACK, listeningOf } from '../support/listening-sockets.ts';
import { natsServer } from '../support/nats-server.ts';
import { consumerOf, nextOf } from '../support/relay-site.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';
import { SHORT_LIVED_JAVA } from '../support/short-lived-java.ts';

const START = resolve(import.meta.dirname, '../../local/start-aws.ts');

const launch = (t: TestContext, args: string[], env: Record<string, string> = {}) => {
  const { PARLEY_ADMIN_KEY: _key, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const child = spawn(process.execPath, [START, ...args], {
    env: { ...inherited, ...SHORT_LIVED_JAVA, ...env },
    stdio: 'pipe',
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr += text;
  });
  const closed = once(child, 'close').then(([code]) => ({ code, ...said }));
  atEndOf(t, () => {
    child.kill('SIGKILL');
    return closed;
  });
  return { child, said, closed };
};

/** Starts and waits for the greeting. */
const started = async (t: TestContext, args: string[]) => {
  const { child, said, closed } = launch(t, args);
  const ended = closed.then(({ code, stderr }) => {
    throw new Error(`it ended with ${code}: ${stderr}`);
  });
  ended.catch(() => {});
  while (!said.stdout.includes('Ctrl-C stops it.')) await Promise.race([once(child.stdout, 'data'), ended]);
  const address = /listening on (http:\S+)/.exec(said.stdout)?.[1] ?? '';
  const [, keyFile = ''] = /^(?:The admin key is|It is kept) in (.+)$/m.exec(said.stdout) ?? [];
  const adminKey = readFileSync(keyFile, 'utf8').trim();
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return closed;
  };
  return { address, adminKey, transport: httpTransport(address), stop };
};

/** The processes whose command line names the folder, but for this one. */
const processesOf = (dir: string): string[] => pidsOf(dir).map(({ command }) => command);

const pidsOf = (dir: string): { pid: string; command: string }[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .map((pid) => {
      try {
        return { pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8') };
      } catch {
        return { pid, command: '' };
      }
    })
    .filter(({ command }) => command.includes(dir));

describe('npm run start:aws', () => {
  it('runs the template, ends with all that it started, and finds everything again', async (t) => {
    const dir = tempDir(t);
    const first = await started(t, ['--port', '0', '--data', dir]);
    assert.equal(statSync(join(dir, 'admin-key')).mode & 0o777, 0o600);
    assert.equal((await fetch(`${first.address}/healthz`)).status, 200);
    const tim = await registered(first.transport, callerWith(first.transport, first.adminKey), 'tim');
    const id = await tim.request();
    assert.ok(processesOf(dir).some((command) => command.includes('DynamoDBLocal')));
    // The API, its gateway, SQS and S3 in one process, and DynamoDB Local in the other.
    const sockets = pidsOf(dir).flatMap(({ pid }) => listeningOf(pid));
    assert.ok(sockets.length >= 4, sockets.join());
    assert.deepEqual(
      sockets.filter((address) => !LOOPBACK.includes(address)),
      [],
    );
    const exit = await first.stop('SIGTERM');
    assert.deepEqual([exit.code, exit.stderr], [0, '']);
    assert.deepEqual(processesOf(dir), []);

    const second = await started(t, ['--port', '0', '--data', dir, '--report-grants']);
    assert.equal(second.adminKey, first.adminKey);
    const reply = await callerWith(second.transport, tim.key).call('GET', `/v1/tasks/${id}`);
    assert.equal(reply.body.state, 'requested', JSON.stringify(reply.body));
    const { stdout } = await second.stop('SIGINT');
    assert.match(stdout, /^Grants that no call has needed:\n( {2}parley-\S+ {2}\w+:\w+ {2}arn:\S+\n)+$/m);
    assert.doesNotMatch(stdout, / {2}parley-\w+-admin-key {2}/);
  });

  it('with --nats: a task that was asked for over HTTPS is done by a knight that knows nothing but NATS', async (t) => {
    const nats = await natsServer(t);
    const client = await connect({ servers: nats.url });
    atEndOf(t, () => client.close());
    const running = await started(t, ['--port', '0', '--data', tempDir(t), '--nats', nats.url]);
    const admin = callerWith(running.transport, running.adminKey);
    const agent = (id: string, registration?: object) => registered(running.transport, admin, id, registration);
    const tim = await agent('tim');
    await agent('galahad', { transport: 'nats' });
    const inbox = await consumerOf(client, 'PARLEY_default', { filter_subject: 'parley.default.galahad.inbox' });
    const id = await tim.request({ to: 'galahad' });
    assert.equal((await nextOf(inbox, 30_000)).body.id, id);
    const result = {
      ...taskRequest('galahad'),
      type: 'task.result',
      correlationId: id,
      payload: { status: 'completed', result: { content: 'all quiet' } },
    };
    await jetstream(client).publish(`roundtable.results.security.${id}`, JSON.stringify(result));
    assert.equal((await tim.task(id, 20)).state, 'completed');

    // What is only streamed goes there as well.
    const merlin = await groundAgent({ admin, agent }, 'merlin');
    await groundAgent({ admin, agent }, 'pmo', { transport: 'nats' });
    const heard = client.subscribe('cg.v1r3.default.*.str.>');
    const said = headers();
    said.set('CG-Sender', 'pmo');
    const call = JSON.stringify({ correlation_id: randomUUID(), mode: 'call' });
    await jetstream(client).publish('cg.v1r3.default.public.cmd.agent.merlin.turn', call, { headers: said });
    const { agent_turn_id } = await eventually(() => new Worker(merlin).begin(), 20_000);
    const chunk = { agent_turn_id, step_id: 's1', chunk_type: 'content', content: 'once upon a time' };
    const sent = await merlin.send({ subject: 'cg.v1r3.default.public.str.agent.merlin.chunk', payload: chunk });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    for await (const message of heard) {
      assert.deepEqual(message.json(), chunk);
      break;
    }
    const { code, stderr } = await running.stop('SIGTERM');
    assert.deepEqual([code, stderr], [0, '']);
  });

  const faults: [what: string, args: string[], says: RegExp, env?: Record<string, string>][] = [
    ['an option that there is not', ['--colour', 'red'], /--colour.*--help/],
    ['a port that is no number', ['--port', 'http'], /--port.*0 to 65535.*"http"/],
    ['a NATS that is no address', ['--nats', '4222'], /--nats must be an address/],
    ['a short admin key', [], /PARLEY_ADMIN_KEY.*16/, { PARLEY_ADMIN_KEY: 'short' }],
    ['no Java', ['--port', '0'], /Java 17.*install/, { PATH: '/nowhere' }],
    ['an address of another machine', ['--port', '0', '--host', '203.0.113.1'], /--host/],
  ];
  for (const [what, args, says, env] of faults) {
    it(`tells a fault in one line: ${what}`, async (t) => {
      const { code, stderr } = await launch(t, ['--data', tempDir(t), ...args], env).closed;
      assert.equal(code, 1);
      assert.match(stderr, /^parley: [^\n]+\n$/);
      assert.match(stderr, says);
    });
  }

  it('tells in one line that another one uses the folder', async (t) => {
    const dir = tempDir(t);
    mkdirSync(join(dir, 'aws'));
    const lock = lockFolder(join(dir, 'aws'));
    atEndOf(t, () => lock.release());
    const { code, stderr } = await launch(t, ['--port', '0', '--data', dir]).closed;
    assert.equal(code, 1);
    assert.match(stderr, /^parley: Another Parley is using [^\n]+--data\.\n$/);
  });

  it('explains itself with --help', async (t) => {
    const { code, stdout, stderr } = await launch(t, ['--help']).closed;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    for (const option of ['--port', '--host', '--data', '--nats', '--report-grants', 'PARLEY_ADMIN_KEY']) {
      assert.ok(stdout.includes(option), option);
    }
  });
});
