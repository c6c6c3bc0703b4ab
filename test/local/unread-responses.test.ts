import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHttpServer } from '../../local/http-server.ts';
import type { HttpResponse } from '../../shared/http/http-message.ts';
import { eventually } from '../support/eventually.ts';

const UNREAD_MS = 600;
/** More than the system keeps for a connection on the same machine. */
const LARGE = 64 * 1024 * 1024;

const asked = async (
  t: TestContext,
  body: () => HttpResponse['body'],
  request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
) => {
  const handle = async () => ({ status: 200, headers: {}, body: body() });
  const server = await startHttpServer(handle, 0, '127.0.0.1', () => {}, undefined, UNREAD_MS);
  t.after(() => server.close());
  return async (): Promise<Socket> => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    socket.write(request);
    return socket;
  };
};

/** Until the connection ends, or all of it is there. */
const readRest = async (socket: Socket, pauseMs = 0): Promise<number> => {
  let bytes = 0;
  try {
    for await (const piece of socket) {
      bytes += piece.length;
      if (bytes > LARGE) break;
      if (pauseMs > 0) await sleep(pauseMs);
    }
  } catch {
    // Cut off.
  }
  return bytes;
};

describe('an answer that nobody reads', () => {
  for (const [what, body] of [
    ['bytes', () => Buffer.alloc(LARGE)],
    ['text', () => 'x'.repeat(LARGE)],
  ] as const) {
    it(`is given up, and its connection with it: ${what}`, async (t) => {
      const ask = await asked(t, body);
      const sockets = await Promise.all(Array.from({ length: 3 }, ask));
      await sleep(3 * UNREAD_MS);
      for (const socket of sockets) {
        const bytes = await readRest(socket);
        assert.ok(bytes < LARGE, `${bytes} bytes were still to be had`);
      }
    });
  }

  it('is given up where one connection asks for small ones without end', async (t) => {
    const ask = await asked(t, () => 'é'.repeat(20_000), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2000));
    const socket = await ask();
    await sleep(3 * UNREAD_MS);
    // 2,000 times 40 KB.
    assert.ok((await readRest(socket)) < LARGE);
  });

  it('is given up though whoever asked sends on', async (t) => {
    const ask = await asked(t, () => Buffer.alloc(LARGE));
    const socket = await ask();
    const sending = setInterval(() => socket.write('\r\n'), UNREAD_MS / 4);
    t.after(() => clearInterval(sending));
    await sleep(3 * UNREAD_MS);
    clearInterval(sending);
    assert.ok((await readRest(socket)) < LARGE);
  });

  it('is sent whole where it is read slowly', async (t) => {
    const ask = await asked(t, () => Buffer.alloc(LARGE));
    const began = performance.now();
    assert.ok((await readRest(await ask(), 2)) > LARGE);
    assert.ok(performance.now() - began > 2 * UNREAD_MS, 'that was not slow');
  });
});

describe('a stream that nobody reads', () => {
  it('is cut off while there is something to read, and its source ends', async (t) => {
    let isOver = false;
    const source = async function* () {
      try {
        for (;;) yield `data: ${'é'.repeat(50_000)}\n\n`;
      } finally {
        isOver = true;
      }
    };
    const ask = await asked(t, source);
    await ask();
    await eventually(() => assert.ok(isOver), 10 * UNREAD_MS);
  });

  it('lasts while there is nothing to read', async (t) => {
    const source = async function* () {
      yield 'data: first\n\n';
      await sleep(3 * UNREAD_MS);
      yield 'data: last\n\n';
    };
    const ask = await asked(t, source);
    const socket = await ask();
    await sleep(4 * UNREAD_MS);
    let text = '';
    for await (const piece of socket) {
      text += String(piece);
      if (text.includes('last')) break;
    }
    assert.match(text, /first.*last/s);
  });
});
