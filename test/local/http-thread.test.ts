import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { serveOnThread } from '../../local/serve-on-thread.ts';
import type { HttpRequest, HttpResponse } from '../../shared/http/http-message.ts';
import type { Handle } from '../../shared/http/router.ts';
import type { Log } from '../../shared/log.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, tempDir } from '../support/server-process.ts';

const LIMIT = 1_000_000;

const served = async (t: TestContext, handle: Handle, log: Log = () => {}) => {
  const listenOn = { port: 0, host: '127.0.0.1', bodyLimit: LIMIT };
  const server = await serveOnThread(handle, listenOn, log, assert.ifError);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= server.close();
    return closing;
  };
  t.after(close);
  return { ...server, close, address: `http://127.0.0.1:${server.port}` };
};

const told = (body: HttpResponse['body']): HttpResponse => ({ status: 200, headers: {}, body });

/** Answers once its caller has gone or the server stops. */
const waitsForSignal = () => {
  const begun = Promise.withResolvers<void>();
  const fired = Promise.withResolvers<void>();
  const handle = async ({ signal }: HttpRequest): Promise<HttpResponse> => {
    assert.ok(signal);
    begun.resolve();
    if (!signal.aborted) await once(signal, 'abort');
    fired.resolve();
    return told('nothing came');
  };
  return { handle, begun: begun.promise, fired: fired.promise };
};

describe('HTTP on a thread of its own', () => {
  it('passes a request and its answer on as they are', async (t) => {
    const bytes = randomBytes(100_000);
    const seen: HttpRequest[] = [];
    const { address } = await served(t, async (request) => {
      seen.push(request);
      // A part of a larger buffer, as most bytes are that were read from somewhere.
      return { status: 201, headers: { 'x-said': 'yes' }, body: bytes.subarray(10, 90_000) };
    });
    const headers = { 'x-asked': 'a question', 'last-event-id': '' };
    const reply = await fetch(`${address}/v1/a%20b?c=d&e`, { method: 'PUT', headers, body: bytes });
    assert.deepEqual([reply.status, reply.headers.get('x-said')], [201, 'yes']);
    assert.deepEqual(Buffer.from(await reply.arrayBuffer()), bytes.subarray(10, 90_000));
    const [request] = seen;
    assert.ok(request && request.body !== 'too large');
    assert.deepEqual([request.method, request.path, request.query], ['PUT', '/v1/a%20b', 'c=d&e']);
    assert.deepEqual([request.headers['x-asked'], request.headers['last-event-id']], ['a question', '']);
    assert.deepEqual(Buffer.from(request.body), bytes);
  });

  it('keeps text of any language, and each answer with its own request', async (t) => {
    const { address } = await served(t, async ({ body }) => told(Buffer.from(body).toString()));
    const texts = Array.from({ length: 50 }, (_, index) => `${index} Größe 漢字 😀 \u0000`);
    const replies = texts.map(async (body) => (await fetch(address, { method: 'POST', body })).text());
    assert.deepEqual(await Promise.all(replies), texts);
  });

  it('does not pass on a body that is too large', async (t) => {
    const { address } = await served(t, async ({ body }) => told(body === 'too large' ? body : 'taken'));
    const sent = async (bytes: number) => (await fetch(address, { method: 'POST', body: Buffer.alloc(bytes) })).text();
    assert.deepEqual([await sent(LIMIT), await sent(LIMIT + 1)], ['taken', 'too large']);
  });

  it('tells who waits that the caller has hung up', async (t) => {
    const { handle, begun, fired } = waitsForSignal();
    const { address } = await served(t, handle);
    const caller = new AbortController();
    const call = fetch(address, { signal: caller.signal });
    await begun;
    caller.abort();
    await assert.rejects(call);
    await fired;
  });

  it('answers who waits when it stops, and ends streams', async (t) => {
    const [poll, stream] = [waitsForSignal(), waitsForSignal()];
    const pieces = async function* (request: HttpRequest) {
      yield 'first ';
      await stream.handle(request);
      yield 'last';
    };
    const { address, close } = await served(t, async (request) =>
      request.path === '/stream' ? told(pieces(request)) : poll.handle(request),
    );
    const texts = ['/poll', '/stream'].map(async (path) => (await fetch(address + path)).text());
    await Promise.all([poll.begun, stream.begun]);
    await close();
    assert.deepEqual(await Promise.all(texts), ['nothing came', 'first last']);
  });

  it('asks a stream for no more than its reader takes, and leaves it when the reader goes', async (t) => {
    const piece = 'x'.repeat(64_000);
    const all = 4000;
    const [left, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let asked = 0;
    const endless = async function* () {
      try {
        for (; asked < all; asked++) yield piece;
        // A bug that asks for everything ends here.
        await stopped.promise;
      } finally {
        left.resolve();
      }
    };
    const { port, address } = await served(t, async ({ path }) => told(path === '/stream' ? endless() : 'other'));
    t.after(() => stopped.resolve());
    const reader = connect(port, '127.0.0.1').pause();
    reader.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    for (let others = 0; others < 300; others++) assert.equal(await (await fetch(address)).text(), 'other');
    assert.ok(asked > 0, 'it has begun');
    // Two sockets hold some megabytes of 256.
    assert.ok(asked < all / 8, `asked for ${asked} pieces`);
    reader.destroy();
    await left.promise;
  });

  it('logs that a stream failed half-way', async (t) => {
    const logged: unknown[] = [];
    const failing = async function* () {
      yield 'id: 1\n\n';
      throw new Error('the storage is away');
    };
    const { address } = await served(
      t,
      async () => told(failing()),
      (...line) => logged.push(line),
    );
    const reply = await fetch(`${address}/v1/events`);
    await assert.rejects(reply.text());
    const facts = { path: '/v1/events', error: 'Error: the storage is away' };
    await eventually(() => assert.deepEqual(logged, [['error', 'an answer ended half-way', facts]]));
  });
});

describe('a thread for HTTP that ends', { concurrency: 2 }, () => {
  const preload = `--import ${resolve(import.meta.dirname, 'dying-thread.ts')}`;
  const deaths: [path: string, says: RegExp, flags?: string][] = [
    ['/bug', /HTTP ended: a bug of its own\./],
    ['/exit', /HTTP ended: nobody has stopped it\./],
    ['/memory', /HTTP ended: .*memory/, '--max-old-space-size=64'],
  ];
  for (const [path, says, flags = ''] of deaths) {
    it(`ends the process with one line: ${path}`, async (t) => {
      const server = await startServer(t, { dir: tempDir(t), env: { NODE_OPTIONS: `${preload} ${flags}` } });
      await assert.rejects(fetch(`${server.address}${path}`));
      const { code, stderr } = await server.exited;
      assert.equal(code, 1);
      assert.match(stderr, /^parley: [^\n]+\.\n$/);
      assert.match(stderr, says);
    });
  }
});
