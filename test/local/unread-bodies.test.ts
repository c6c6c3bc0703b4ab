import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../local/http-server.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const DECLARED = 4_000_000;

const head = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${DECLARED}\r\n\r\n`;

/** The first line of the first answer that is no 100. */
const statusOf = async (socket: Socket): Promise<string> => {
  let text = '';
  for await (const piece of socket) {
    text += String(piece);
    if (text.includes('\r\n\r\n')) break;
  }
  return text.split('\r\n')[0] ?? '';
};

const served = async (t: { after(cleanUp: () => unknown): void }) => {
  const { parley, agent } = await testParley(t);
  const { key } = await agent('tim');
  const server = await startHttpServer(parley.handle, 0, '127.0.0.1');
  t.after(() => server.close());
  const open = (): Socket => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    return socket;
  };
  return { open, port: server.port, authorization: `Authorization: Bearer ${key}\r\n` };
};

describe('a body that nobody will read', () => {
  it('is refused while half of it is still to come, and none of it is waited for', async (t) => {
    const { open, authorization } = await served(t);
    const refused: [path: string, headers: string, status: string][] = [
      ['/v1/messages', '', '401 Unauthorized'],
      ['/v1/messages', 'Authorization: Bearer prl_default.tim.wrong\r\n', '401 Unauthorized'],
      ['/v1/manifest', authorization, '403 Forbidden'],
      ['/v1/relay/render', authorization, '403 Forbidden'],
      ['/v1/nothing', authorization, '404 Not Found'],
      ['/v1/inbox/ack', authorization, '413 Payload Too Large'],
      ['/healthz', authorization, '405 Method Not Allowed'],
    ];
    for (const [path, headers, status] of refused) {
      const socket = open();
      socket.write(head(path, headers) + 'x'.repeat(100_000));
      assert.equal(await statusOf(socket), `HTTP/1.1 ${status}`, path);
    }
  });

  it('can be sent whole before its sender reads the answer', async (t) => {
    const { open } = await served(t);
    const socket = open().pause();
    await new Promise<void>((sent) => socket.write(head('/v1/messages', '') + 'x'.repeat(DECLARED), () => sent()));
    assert.equal(await statusOf(socket), 'HTTP/1.1 401 Unauthorized');
  });

  it('is not asked for where its sender waits to be told to go on', async (t) => {
    const { open, authorization } = await served(t);
    const stranger = open();
    stranger.write(head('/v1/messages', 'Expect: 100-continue\r\n'));
    assert.equal(await statusOf(stranger), 'HTTP/1.1 401 Unauthorized');
    const known = open();
    known.write(head('/v1/messages', `Expect: 100-continue\r\n${authorization}`));
    assert.equal(await statusOf(known), 'HTTP/1.1 100 Continue');
  });

  it('leaves a connection in use where it is short', async (t) => {
    const { open, authorization } = await served(t);
    const socket = open();
    const short = 'POST /v1/manifest HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n';
    socket.write(`${short}${authorization}\r\n{}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const text = Buffer.concat(await socket.toArray()).toString();
    assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 403', 'HTTP/1.1 200']);
  });
});

describe('a body whose sender is gone', () => {
  it('is refused to a call that reads it only afterwards, so that the call ends', async (t) => {
    const [begun, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let outcome = 'none';
    const server = await startHttpServer(
      async (request) => {
        request.signal?.addEventListener('abort', () => gone.resolve());
        begun.resolve();
        await gone.promise;
        outcome = await request.readBody(DECLARED).then(
          () => 'read',
          (error: unknown) => (error instanceof ParleyError ? error.code : String(error)),
        );
        return { status: 200, headers: {}, body: '' };
      },
      0,
      '127.0.0.1',
    );
    t.after(() => server.close());
    const socket = connect(server.port, '127.0.0.1').on('error', () => {});
    socket.write(`${head('/v1/messages', '')}half of it`);
    await begun.promise;
    socket.destroy();
    await eventually(() => assert.equal(outcome, 'invalid_request'));
  });
});
