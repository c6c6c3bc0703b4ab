import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { startHttpServer } from '../../local/http-server.ts';
import { ProblemSchema } from '../../shared/http/openapi.ts';
import { testParley } from '../support/test-parley.ts';

const HOST = 'Host: x\r\n';
const REFUSED: [what: string, sent: string, status: number, code: string][] = [
  ['a path that is not ASCII', `GET /v1/täsks HTTP/1.1\r\n${HOST}\r\n`, 400, 'invalid_request'],
  ['no HTTP at all', 'hello\r\n\r\n', 400, 'invalid_request'],
  [
    'two lengths',
    `POST /v1/x HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    400,
    'invalid_request',
  ],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
  [
    'an expectation',
    `POST /v1/x HTTP/1.1\r\n${HOST}Expect: tea\r\nContent-Length: 1\r\n\r\n`,
    417,
    'expectation_failed',
  ],
  ['large headers', `GET /healthz HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
];

const served = async (t: { after(cleanUp: () => unknown): void }) => {
  const { parley } = await testParley(t);
  const server = await startHttpServer(parley.handle, 0, '127.0.0.1');
  t.after(() => server.close());
  const sent = async (text: string): Promise<string> => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(Buffer.from(text, 'latin1'));
    return Buffer.concat(await socket.toArray()).toString();
  };
  return { sent };
};

describe('a request that cannot be parsed', () => {
  for (const [what, text, status, code] of REFUSED) {
    it(`is refused with a problem: ${what}`, async (t) => {
      const { sent } = await served(t);
      const [head = '', body = ''] = (await sent(text)).split('\r\n\r\n');
      assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(head, /content-type: application\/problem\+json/i);
      const problem = ProblemSchema.parse(JSON.parse(body));
      assert.deepEqual([problem.status, problem.code], [status, code]);
    });
  }
});

describe('HEAD', () => {
  it('is answered as GET, without a body, on a connection that goes on', async (t) => {
    const { sent } = await served(t);
    const request = (method: string, path: string, close = '') => `${method} ${path} HTTP/1.1\r\n${HOST}${close}\r\n`;
    const text = await sent(
      request('HEAD', '/openapi.json') +
        request('HEAD', '/v1/tasks') +
        request('GET', '/healthz', 'Connection: close\r\n'),
    );
    assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 401', 'HTTP/1.1 200']);
    assert.match(text, /content-length: \d{5,}/i);
    assert.ok(text.length < 3000);
  });
});
