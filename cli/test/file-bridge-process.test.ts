import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { messageRouting, mrMessage, type Wire } from '../../test/support/message-routing.ts';
import { atEndOf, lastingPort, type Owner, startServer, tempDir } from '../../test/support/server-process.ts';
import { EXIT } from '../command.ts';
import { assertEach, busMessage, TestBus } from './file-bridge-site.ts';

const MAIN = resolve(import.meta.dirname, '..', 'main.ts');

/** The bridge as a process of its own, with what it wrote. */
const startBridge = (owner: Owner, bus: TestBus, { address, adminKey }: { address: string; adminKey: string }) => {
  const child = spawn(process.execPath, [MAIN, 'bridge', 'files', bus.root, '--json'], {
    env: { ...process.env, PARLEY_URL: address, PARLEY_KEY: adminKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.err += text;
  });
  const exited = once(child, 'close').then(([code]) => ({ code, ...said }));
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  atEndOf(owner, () => end('SIGKILL'));
  const list = (kind: string): Wire[] =>
    said.out
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line): Wire => JSON.parse(line))
      .filter((notice) => notice.kind === kind);
  return { said, end, exited, list, isReady: () => eventually(() => assert.ok(list('ready').length > 0, said.err)) };
};

const start = async (t: Owner) => {
  const dir = tempDir(t);
  const port = await lastingPort();
  const server = await startServer(t, { dir, port });
  await server.agent('lead', { ...messageRouting, profile: 'cfn', role: 'coordinator' });
  const plain = await server.agent('plain', { ...messageRouting, inboxLimit: 1000 });
  return { dir, port, server, plain, bus: new TestBus(t) };
};

const COUNT = 60;

describe('the process of parley bridge files', () => {
  it('loses and doubles nothing when it is killed again and again', { timeout: 120_000 }, async (t) => {
    const { server, plain, bus } = await start(t);
    const toParley = Array.from({ length: COUNT }, () => busMessage('request', 'lead', 'plain', {}));
    const toBus = Array.from({ length: COUNT }, () => mrMessage('status-update', 'plain', 'lead', {}));
    for (const message of toParley) bus.write('plain', message);
    for (const message of toBus) assert.equal((await plain.send(message)).status, 202);
    const received: Wire[] = [];
    let kills = 0;
    for (; received.length < COUNT || bus.names('plain', 'inbox').length > 0; kills++) {
      const bridge = startBridge(t, bus, server);
      await eventually(() => {
        received.push(...bus.take('lead'));
        const isBusy = bridge.list('sent').length + bridge.list('received').length > 7 + kills;
        assert.ok(isBusy || received.length === COUNT, bridge.said.err);
      });
      await bridge.end('SIGKILL');
    }
    const last = startBridge(t, bus, server);
    await last.isReady();
    await eventually(() => assert.deepEqual(bus.names('.parley-bridge', 'outgoing'), []));
    await eventually(async () =>
      assert.deepEqual((await server.admin.call('GET', '/v1/inbox?agent=lead')).body.messages, []),
    );
    const { code } = await last.end('SIGTERM');
    received.push(...bus.take('lead'));
    t.diagnostic(`${kills} kills`);
    assert.equal(code, EXIT.ok);
    assertEach(received, toBus, 'to the bus');
    const arrived: Wire[] = (await plain.call('GET', '/v1/inbox?mode=take&max=100')).body.messages;
    assert.deepEqual(
      arrived.map(({ sequence }) => sequence),
      toParley.map(({ sequence }) => sequence),
    );
  });

  it('waits while Parley is away, and says so', { timeout: 60_000 }, async (t) => {
    const { dir, port, server, bus } = await start(t);
    const bridge = startBridge(t, bus, server);
    await bridge.isReady();
    await server.stop();
    bus.write('plain', busMessage('request', 'lead', 'plain', {}));
    await eventually(() => assert.match(JSON.stringify(bridge.list('waiting')), /cannot be reached/));
    await startServer(t, { dir, port });
    await eventually(() => assert.equal(bridge.list('sent').length, 1), 20_000);
    await eventually(() => assert.match(JSON.stringify(bridge.list('ready')), /answers again/));
  });

  it('is the only one in its folder, and ends with a wrong key', { timeout: 60_000 }, async (t) => {
    const { server, bus } = await start(t);
    const bridge = startBridge(t, bus, server);
    await bridge.isReady();
    const second = await startBridge(t, bus, server).exited;
    assert.deepEqual([second.code, second.err.trim()], [EXIT.failed, `parley: Another bridge runs in ${bus.root}.`]);
    const other = await startBridge(t, new TestBus(t), { ...server, adminKey: 'wrong' }).exited;
    assert.equal(other.code, EXIT.rejected);
    assert.match(other.err, /unauthorized/);
  });
});
