import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../local/http-server.ts';
import baseConfig from '../../parley.config.ts';
import { defineConfig } from '../../shared/config/config.ts';
import { testParley } from '../support/test-parley.ts';

const LIMIT = 1_000_000;
const config = defineConfig({ ...baseConfig, limits: { bodyBytes: LIMIT } });

/** The answer, which is looked at once everything is sent, as simple clients do. */
const sentWhole = async (port: number, key: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1').pause();
  const head = `POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${20 * LIMIT}\r\n\r\n`;
  await new Promise<void>((sent, failed) => {
    socket.on('error', failed).write(head + 'x'.repeat(20 * LIMIT), () => sent());
  });
  return String(await socket.toArray());
};

describe('a body that is too large', () => {
  it('is answered with 413, also where its sender looks for an answer only once all is sent', async (t) => {
    const { parley, agent } = await testParley(t, { config });
    const { key } = await agent('tim');
    const server = await startHttpServer(parley.handle, 0, '127.0.0.1');
    t.after(() => server.close());
    for (let time = 0; time < 5; time++) assert.match(await sentWhole(server.port, key), /^HTTP\/1.1 413 /);
  });

  it('is answered with 413 before its end, where that does not come', async (t) => {
    const { parley, agent } = await testParley(t, { config });
    const { key } = await agent('tim');
    const server = await startHttpServer(parley.handle, 0, '127.0.0.1');
    t.after(() => server.close());
    const headers = { authorization: `Bearer ${key}`, 'content-length': 5 * LIMIT };
    const outgoing = request({ port: server.port, method: 'POST', path: '/v1/messages', headers });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      outgoing.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject);
    });
    outgoing.write('x'.repeat(LIMIT + 1));
    assert.equal(await answered, 413);
    outgoing.destroy();
  });
});
