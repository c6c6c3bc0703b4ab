import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { lastingPort, startServer, tempDir } from '../../test/support/server-process.ts';
import { openTerminal } from '../../test/support/tmux.ts';
import { EXIT } from '../command.ts';
import { createRunner, MAIN } from './run-parley.ts';

const OWNER = { after };
const home = tempDir(OWNER);
const data = tempDir(OWNER);
const server = await startServer(OWNER, { dir: data });
const { env, start, parley, succeeds } = createRunner(home, {
  PARLEY_URL: server.address,
  PARLEY_KEY: server.adminKey,
});

const submit = async (capability: string, count: number): Promise<string[]> => {
  const requester = await server.agent(`r-${randomUUID().slice(0, 8)}`, { dialect: 'native' });
  await server.agent(`w-${randomUUID().slice(0, 8)}`, { dialect: 'native', capabilities: [capability] });
  const ids = Array.from({ length: count }, () => randomUUID() as string);
  for (const id of ids) {
    const { status, body } = await requester.send({ kind: 'request', id, capability, input: { n: 1 } });
    assert.equal(status, 202, JSON.stringify(body));
  }
  return ids;
};

const newName = (): string => `c-${randomUUID().slice(0, 8)}`;

describe('parley queues', () => {
  it('shows what waits, as a table, as lines with tabs, and as JSON', async () => {
    const capability = newName();
    await submit(capability, 3);
    const [queue] = JSON.parse(await succeeds(['queues', '--capability', capability, '--json']));
    assert.deepEqual(queue.waiting, { value: 3, isExact: true });
    assert.match(await succeeds(['queues', '--capability', capability]), new RegExp(`^capability:${capability}\t3\t`));
  });

  it('prints the queues again when they have changed, where no terminal is, until its reader is gone', async () => {
    const capability = newName();
    await submit(capability, 1);
    const child = start(['queues', '--watch', '--interval', '0.1', '--capability', capability, '--json']);
    const seen: number[] = [];
    for await (const text of child.stdout) {
      for (const line of String(text).trim().split('\n')) seen.push(JSON.parse(line)[0]?.waiting.value ?? 0);
      if (seen.length === 1) await submit(capability, 2);
      if (seen.at(-1) === 3) break;
    }
    // Its output is closed now.
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    assert.equal(seen[0], 1);
    assert.equal(seen.at(-1), 3);
  });

  it('draws the queues on a terminal while they change, and leaves it as it was on Ctrl-C', async () => {
    const capability = newName();
    await submit(capability, 2);
    const terminal = openTerminal(OWNER, [process.execPath, MAIN, 'queues', '--watch', '--interval', '0.2'], env);
    const first = await terminal.waitFor(new RegExp(`capability:${capability} +2 `));
    assert.match(first, /Queues of http:\/\/127\.0\.0\.1:\d+ +\d+ waiting, \d+ in flight/);
    assert.match(first, /queue +waiting +oldest +in flight/);
    assert.match(first, /█/);
    await submit(capability, 3);
    await terminal.waitFor(new RegExp(`capability:${capability} +5 `));
    terminal.send('C-c');
    const last = await terminal.waitFor(/ended with 0/);
    assert.doesNotMatch(last, /Queues of/);
  });

  it('says on the terminal that the server is gone, goes on with what it last saw, and then with what is new', async () => {
    const dir = tempDir(OWNER);
    const port = await lastingPort();
    const first = await startServer(OWNER, { dir, port });
    const near = { ...env, PARLEY_URL: first.address, PARLEY_KEY: first.adminKey };
    const terminal = openTerminal(OWNER, [process.execPath, MAIN, 'queues', '--watch', '--interval', '0.2'], near);
    await terminal.waitFor(/domain:security +0 /);
    await first.stop();
    assert.match(await terminal.waitFor(/cannot be reached/), /domain:security +0 /);
    await startServer(OWNER, { dir, port });
    await terminal.waitFor(/^Queues of/);
  });

  it('cuts what does not fit into a small terminal', async () => {
    for (let count = 0; count < 8; count++) await submit(newName(), 1);
    const terminal = openTerminal(OWNER, [process.execPath, MAIN, 'queues', '--watch'], env, { columns: 60, rows: 8 });
    const screen = await terminal.waitFor(/…/);
    assert.ok(screen.trimEnd().split('\n').length <= 8);
    assert.match(screen, /Queues of/);
  });
});

describe('parley tasks', () => {
  it('lists by any filter, and cancels all that a filter matches, after a look at what that would be', async () => {
    const capability = newName();
    const ids = await submit(capability, 4);
    const listed = JSON.parse(await succeeds(['tasks', 'list', '--type', capability, '--since', '1h', '--json']));
    assert.deepEqual(listed.map(({ id }: { id: string }) => id).sort(), [...ids].sort());
    assert.deepEqual(
      JSON.parse(await succeeds(['tasks', 'list', '--type', capability, '--until', '1h', '--json'])),
      [],
    );
    const look = JSON.parse(await succeeds(['tasks', 'cancel', '--type', capability, '--dry-run', '--json']));
    assert.deepEqual(look.count, { value: 4, isExact: true });
    assert.match(
      await succeeds(['tasks', 'cancel', '--type', capability, '--reason', 'too late']),
      /^completed: 4 changed/,
    );
    assert.match(await succeeds(['tasks', 'list', '--type', capability]), /(.*\tcancelled\t.*\n){4}/);
    assert.match(await succeeds(['tasks', 'get', ids[0] ?? '']), /too late/);
    const neither = await parley(['tasks', 'cancel']);
    assert.deepEqual([neither.code, /ids, or a filter/.test(neither.err)], [EXIT.usage, true]);
    assert.equal((await parley(['tasks', 'cancel', 'x', '--type', 'y'])).code, EXIT.usage);
  });

  it('runs an ended task again with another input, once for one id', async () => {
    const [old = ''] = await submit(newName(), 1);
    await succeeds(['tasks', 'cancel', old]);
    const id = randomUUID();
    for (let time = 0; time < 2; time++) {
      assert.equal((await succeeds(['tasks', 'rerun', old, '{"n": 2}', '--id', id])).trim(), id);
    }
    const task = JSON.parse(await succeeds(['tasks', 'get', id, '--json']));
    assert.deepEqual([task.payload, task.rerunOf], [{ n: 2 }, old]);
  });
});

describe('parley agents and queues', () => {
  it('pauses, resumes and drains an agent, which then gets no task, or some again', async () => {
    const [agent, capability] = [newName(), newName()];
    const worker = await server.agent(agent, { dialect: 'native', capabilities: [capability] });
    assert.match(await succeeds(['agents', 'pause', agent, '--reason', 'new model', '--for', '10m']), /paused$/m);
    await submit(capability, 1);
    assert.deepEqual(await worker.claim(), []);
    assert.match(await succeeds(['agents', 'list']), new RegExp(`^${agent}\tnative\tpaused\t`, 'm'));
    const { paused } = JSON.parse(await succeeds(['agents', 'drain', agent, '--json']));
    assert.equal(paused.action, 'drain');
    await succeeds(['agents', 'resume', agent]);
    assert.equal((await worker.claim()).length, 1);
  });

  it('pauses and resumes the queue of a capability', async () => {
    const capability = newName();
    const worker = await server.agent(newName(), { dialect: 'native', capabilities: [capability] });
    const requester = await server.agent(newName(), { dialect: 'native' });
    await requester.send({ kind: 'request', id: randomUUID(), capability, input: {} });
    const queue = `capability:${capability}`;
    assert.equal(await succeeds(['queues', 'pause', queue]), `${queue} is paused\n`);
    assert.deepEqual(await worker.claim(), []);
    assert.match(await succeeds(['queues', '--capability', capability]), new RegExp(`^${queue} \\(paused\\)\t1\t`));
    assert.equal(await succeeds(['queues', 'resume', queue]), `${queue} goes on\n`);
    assert.equal((await worker.claim()).length, 1);
  });
});

describe('parley keys', () => {
  it('makes, lists, replaces and ends keys of operators and agents', async () => {
    const name = newName();
    const key = (await succeeds(['keys', 'add', name, '--scope', 'read', '--expires', '30d'])).trim();
    const asReader = { PARLEY_KEY: key };
    assert.match(await succeeds(['status'], asReader), /answers/);
    assert.equal((await parley(['agents', 'add', newName()], asReader)).code, EXIT.rejected);
    assert.match(await succeeds(['keys', 'list']), new RegExp(`^${name}\t\tread\t`, 'm'));
    const next = (await succeeds(['keys', 'rotate', name, '--overlap', '1h'])).trim();
    for (const valid of [key, next]) await succeeds(['status'], { PARLEY_KEY: valid });
    await succeeds(['keys', 'revoke', name]);
    assert.equal((await parley(['status'], { PARLEY_KEY: next })).code, EXIT.rejected);

    const agent = newName();
    await succeeds(['agents', 'add', agent]);
    const more = (await succeeds(['keys', 'add', 'second', '--agent', agent])).trim();
    assert.deepEqual(JSON.parse(await succeeds(['inbox', '--json'], { PARLEY_KEY: more })), []);
    assert.match(await succeeds(['keys', 'list', '--agent', agent]), new RegExp(`^second\t${agent}\tagent\t`, 'm'));
    assert.equal((await parley(['keys', 'rotate'])).code, EXIT.usage);
    assert.equal((await parley(['keys', 'add', newName(), '--expires', 'soon'])).code, EXIT.usage);
  });
});

describe('parley on the storage', () => {
  it('backs up a running server, restores the copy, and shows a stored record', async () => {
    const [id = ''] = await submit(newName(), 1);
    const [folder, copy] = [join(tempDir(OWNER), 'backup'), join(tempDir(OWNER), 'copy')];
    assert.match(await succeeds(['backup', folder, '--data', data]), /while it runs/);
    assert.match(await succeeds(['restore', folder, '--data', copy]), /^Restored the backup of /);
    assert.ok(existsSync(join(copy, 'parley.db')));
    const args = ['records', 'get', `default#task#${id}`, 'task', '--data', data, '--json'];
    const record = JSON.parse(await succeeds(args));
    assert.deepEqual([record.id, record.sk, record.status], [id, 'task', 'requested']);
    for (const wrong of [
      ['backup', folder, '--data', data],
      ['records', 'get', 'default#task#none', '--data', data],
      ['records', 'get', 'default#task#none', '--data', copy],
    ]) {
      const said = await parley(wrong);
      assert.equal(said.code, EXIT.failed);
      assert.match(said.err, /^parley: [^\n]+\n$/);
    }
  });

  it('says what is wrong with a configuration, all of it, without a server', async () => {
    const file = join(home, 'parley.config.json');
    writeFileSync(file, JSON.stringify({ projects: { default: { domains: {} } } }));
    assert.equal(await succeeds(['config', 'check', file]), `valid: ${file}, default\n`);
    assert.equal(await succeeds(['config', 'check']), 'valid: parley.config.json, default\n');
    writeFileSync(file, JSON.stringify({ projects: {}, tasks: { leaseMs: 'long' }, colour: 'red' }));
    const { code, out } = await parley(['config', 'check', file, '--json']);
    assert.equal(code, EXIT.rejected);
    assert.equal(JSON.parse(out).mistakes.length, 2);
    assert.equal((await parley(['config', 'check', join(home, 'none.json')])).code, EXIT.usage);
  });
});
