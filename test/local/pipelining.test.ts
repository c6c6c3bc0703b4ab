import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { startHttpServer } from '../../local/http-server.ts';
import type { HttpRequest, HttpResponse } from '../../shared/http/http-message.ts';
import { eventually } from '../support/eventually.ts';

const BODY = 'x'.repeat(10_000);
const post = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost:\r\n\r\n`;

/** A server whose answers wait until they are let go, except that of /now. */
const gated = async (t: TestContext) => {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const handle = async (request: HttpRequest): Promise<HttpResponse> => {
    begun.push(request.path);
    if (request.path !== '/now') await gate.promise;
    const body = await request.readBody(BODY.length);
    return { status: 200, headers: {}, body: `${request.path} ${body.byteLength}\n` };
  };
  const server = await startHttpServer(handle, 0, '127.0.0.1');
  t.after(() => {
    gate.resolve();
    return server.close();
  });
  const open = (): Socket => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    return socket;
  };
  return { open, begun, goOn: () => gate.resolve() };
};

const received = (socket: Socket, count: number): Promise<string[]> =>
  new Promise((resolve) => {
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
      const answers = text.match(/^\/\d+ \d+$/gm) ?? [];
      if (answers.length === count) resolve(answers);
    });
  });

describe('requests that are pipelined on one connection', () => {
  it('are served one after the other, and no more are read while some are held', async (t) => {
    const { open, begun, goOn } = await gated(t);
    const socket = open();
    const count = 2000;
    const answers = received(socket, count);
    for (let n = 0; n < count; n++) socket.write(post(`/${n}`));
    const other = open();
    other.write(get('/now'));
    await once(other, 'data');
    await eventually(() => assert.deepEqual(begun, ['/0', '/now']));
    // 20 MB, of which the kernel and one read of the server take a part.
    const unsent = socket.writableLength;
    assert.ok(unsent > 0, 'the server has read all of it');
    for (let turns = 0; turns < 100; turns++) await turn();
    const held = queryObjects(IncomingMessage, { format: 'count' });
    assert.ok(held < 200, `${held} requests are held`);
    goOn();
    assert.deepEqual(
      await answers,
      Array.from({ length: count }, (_, n) => `/${n} ${BODY.length}`),
    );
  });

  it('cost the connection where they are more than the server holds in all, and others are served', async (t) => {
    const { open, begun } = await gated(t);
    const sockets = Array.from({ length: 12 }, open);
    let closed = 0;
    for (const socket of sockets) {
      socket.on('close', () => {
        closed += 1;
      });
      socket.write(get('/0').repeat(2500));
    }
    await eventually(() => assert.ok(closed > 0));
    assert.ok(queryObjects(IncomingMessage, { format: 'count' }) <= 10_100);
    const other = open();
    other.write(get('/now'));
    await once(other, 'data');
    assert.ok(begun.filter((path) => path === '/0').length <= sockets.length);
  });

  it('leave nothing behind once they are answered', async (t) => {
    const { open, goOn } = await gated(t);
    goOn();
    const socket = open();
    const answers = received(socket, 300);
    for (let n = 0; n < 300; n++) socket.write(post(`/${n}`));
    await answers;
    await eventually(() => assert.ok(queryObjects(IncomingMessage, { format: 'count' }) < 5));
  });
});
