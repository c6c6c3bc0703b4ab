import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { getPort } from '../../local/cloudformation-runner/index.ts';
import { eventually } from '../support/eventually.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';

const CLIENT = new URL('../../local/localstack/runtime-client.ts', import.meta.url).pathname;
const API = '/2018-06-01/runtime';

interface Posted {
  path: string;
  body: unknown;
}

/** The Runtime API, which has some events and then nothing more, and what a function's code posts to it. */
const runFunction = async (t: TestContext, code: string, events: unknown[], expected: number) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'index.mjs'), code);
  const posted: Posted[] = [];
  const all = Promise.withResolvers<void>();
  let count = 0;
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.method === 'POST') {
      const body = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
      posted.push({ path: incoming.url?.replace(API, '') ?? '', body });
      outgoing.writeHead(202).end();
      if (posted.length === expected) all.resolve();
    } else if (count < events.length) {
      outgoing.setHeader('lambda-runtime-aws-request-id', `request-${count}`);
      outgoing.setHeader('lambda-runtime-deadline-ms', Date.now() + 60_000);
      outgoing.end(JSON.stringify(events[count]));
      count += 1;
    }
  });
  atEndOf(t, () => server.close());
  const port = await getPort(server, 0, '127.0.0.1');
  const child = spawn(process.execPath, [CLIENT], {
    env: { AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`, LAMBDA_TASK_ROOT: dir, _HANDLER: 'index.handler' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close').then(([code]) => code);
  atEndOf(t, async () => {
    child.kill();
    await ended;
  });
  await all.promise;
  return { posted, ended, said: () => said };
};

describe('a function that runs as a process', () => {
  it('answers one invocation after the other, keeps its state between them, and marks where its output ends', async (t) => {
    const code = `let calls = 0; export const handler = async (event, context) => {
      console.log('heard', event.n);
      return { n: event.n, calls: ++calls, id: context.awsRequestId, hasTime: context.getRemainingTimeInMillis() > 50_000 };
    };`;
    const { posted, said } = await runFunction(t, code, [{ n: 7 }, { n: 8 }], 2);
    assert.deepEqual(posted, [
      { path: '/invocation/request-0/response', body: { n: 7, calls: 1, id: 'request-0', hasTime: true } },
      { path: '/invocation/request-1/response', body: { n: 8, calls: 2, id: 'request-1', hasTime: true } },
    ]);
    const output = 'heard 7\nEND RequestId: request-0\nheard 8\nEND RequestId: request-1\n';
    await eventually(() => assert.equal(said(), output));
  });

  it('reports what it threw, and goes on', async (t) => {
    const code = `export const handler = async ({ fails }) => { if (fails) throw new TypeError('it was asked to'); };`;
    const { posted } = await runFunction(t, code, [{ fails: true }, {}], 2);
    const [failed, answered] = posted;
    const { errorType, errorMessage, stackTrace } = Object(failed?.body);
    assert.deepEqual(
      [failed?.path, errorType, errorMessage, stackTrace[0]],
      ['/invocation/request-0/error', 'TypeError', 'it was asked to', 'TypeError: it was asked to'],
    );
    assert.deepEqual(answered, { path: '/invocation/request-1/response', body: null });
  });

  it('reports code that does not load, and ends', async (t) => {
    const { posted, ended } = await runFunction(t, 'export const another = 1;', [{}], 1);
    const [{ path, body } = { path: '', body: {} }] = posted;
    assert.deepEqual([path, Object(body).errorMessage], ['/init/error', 'index.handler is undefined or not exported']);
    assert.equal(await ended, 1);
  });
});
