import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FairTurns } from '../../local/fair-turns.ts';
import { startHttpServer } from '../../local/http-server.ts';
import { eventually } from '../support/eventually.ts';

describe('requests beyond what one turn of the event loop begins', () => {
  it('begin in later turns, each caller in turn, and in the order of each caller', async () => {
    const turns = new FairTurns();
    const begun: string[] = [];
    const ask = (caller: string, count: number) => {
      for (let n = 0; n < count; n++) turns.begin(caller, () => begun.push(`${caller}${n}`));
    };
    ask('flood', 1000);
    ask('other', 2);
    assert.equal(begun.length, 128);
    await turn();
    assert.equal(begun.length, 256);
    assert.deepEqual(begun.slice(128, 133), ['flood128', 'other0', 'flood129', 'other1', 'flood130']);
    while (begun.length < 1002) await turn();
    const own = begun.filter((name) => name.startsWith('flood'));
    assert.deepEqual(
      own,
      own.map((_, n) => `flood${n}`),
    );
    ask('late', 1);
    assert.equal(begun.at(-1), 'late0', 'with nothing ahead, a request begins at once');
  });

  it('keep neither /healthz nor another key waiting for all of them', async (t) => {
    const begun: string[] = [];
    const before: Record<string, number> = {};
    const server = await startHttpServer(
      async ({ path, headers }) => {
        before[path === '/healthz' ? path : (headers.authorization ?? '')] ??= begun.length;
        begun.push(path);
        return { status: 200, headers: {}, body: 'ok' };
      },
      0,
      '127.0.0.1',
    );
    t.after(() => server.close());
    const sockets = Array.from({ length: 602 }, () => connect(server.port, '127.0.0.1').on('error', () => {}));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    const ask = (socket: Socket, path: string, key: string) =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n\r\n`);
    // Node accepts one connection in a turn: all are there once each was answered.
    for (const socket of sockets) ask(socket, '/first', 'key-0');
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    begun.length = 0;
    const [probe, other, ...flood] = sockets.toReversed();
    for (const socket of flood) ask(socket, '/flood', 'key-1');
    if (other && probe) {
      ask(other, '/other', 'key-2');
      ask(probe, '/healthz', '');
    }
    await eventually(() => assert.ok(begun.length === 602));
    assert.ok((before['/healthz'] ?? Infinity) <= 300, `${before['/healthz']} were ahead of /healthz`);
    assert.ok((before['key-2'] ?? Infinity) <= 300, `${before['key-2']} were ahead of the other key`);
  });
});
