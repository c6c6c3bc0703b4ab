import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { loadAdminKeys } from '../../local/admin-keys.ts';
import { getPort } from '../../local/cloudformation-runner/index.ts';
import { setAdminKeys } from '../../local/localstack/deploy.ts';
import { startFront } from '../../local/localstack/start-front.ts';
import { tempDir } from '../support/server-process.ts';

const START = new URL('../../local/start-localstack.ts', import.meta.url).pathname;

/** A function behind an address of its own, that says what it was asked. */
const echoing = async (t: TestContext, name: string): Promise<string> => {
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    outgoing.writeHead(202, { 'content-type': 'application/json', traceparent: 'made here' });
    outgoing.end(JSON.stringify([name, incoming.method, incoming.url, incoming.headers.authorization, body]));
  });
  t.after(() => server.close());
  return `http://127.0.0.1:${await getPort(server, 0, '127.0.0.1')}/`;
};

/** What it says when it does not start. */
const fault = async (
  t: TestContext,
  { dir = tempDir(t), args = [], env = {} }: { dir?: string; args?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<string> => {
  const child = execFile(process.execPath, [START, '--data', dir, ...args], { env: { PATH: '/nowhere', ...env } });
  let said = '';
  child.stderr?.on('data', (text) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 1);
  return said;
};

describe('LocalStack', () => {
  it('has one address in front of its functions, and each route goes to its own', async (t) => {
    const [ingest, tasks, api] = [await echoing(t, 'ingest'), await echoing(t, 'tasks'), await echoing(t, 'api')];
    const routes = { 'POST /v1/messages': ingest, 'ANY /v1/tasks/{proxy+}': tasks, $default: api };
    const front = await startFront(routes, 0, '127.0.0.1');
    t.after(() => front.close());
    const ask = async (method: string, path: string, body?: string) => {
      const reply = await fetch(front.address + path, { method, body, headers: { authorization: 'Bearer key' } });
      assert.deepEqual([reply.status, reply.headers.get('traceparent')], [202, 'made here']);
      const said: string[] = JSON.parse(await reply.text());
      return said;
    };
    assert.deepEqual(await ask('POST', '/v1/messages?wait=1', '{"a":1}'), [
      ...['ingest', 'POST', '/v1/messages?wait=1', 'Bearer key', '{"a":1}'],
    ]);
    assert.deepEqual((await ask('GET', '/v1/tasks/a%2Fb')).slice(0, 3), ['tasks', 'GET', '/v1/tasks/a%2Fb']);
    assert.equal((await ask('GET', '/v1/messages'))[0], 'api');
  });

  it('says in one line what to do where there is no Docker', async (t) => {
    assert.match(await fault(t), /^parley: Docker does not answer\. .*npm run start:aws\.\n$/);
  });

  it('gives each project an admin key of its own, in a file of its own', async (t) => {
    const dir = tempDir(t);
    const NODE_OPTIONS = `--import ${new URL('./two-projects/use-config.ts', import.meta.url).href}`;
    // The keys are made before anything is started.
    assert.match(await fault(t, { dir, env: { NODE_OPTIONS } }), /Docker does not answer/);
    assert.deepEqual(readdirSync(dir).toSorted(), ['admin-key', 'admin-key.camelot', 'admin-key.far-away']);
    const asked: string[][] = [];
    const server = createServer(async (incoming, outgoing) => {
      asked.push([incoming.url ?? '', Buffer.concat(await incoming.toArray()).toString()]);
      outgoing.end('{}');
    });
    t.after(() => server.close());
    const endpoint = `http://127.0.0.1:${await getPort(server, 0, '127.0.0.1')}`;
    const keys = loadAdminKeys(dir, ['default', 'camelot', 'far-away'], {});
    await setAdminKeys(endpoint, 'admin-key-function', keys);
    assert.deepEqual(
      asked.map(([url, body = '']) => [url, JSON.parse(body)]),
      keys.map(({ project, key }) => ['/2015-03-31/functions/admin-key-function/invocations', { project, key }]),
    );
  });

  it('has no relay beside it, and says so to whoever names a NATS', async (t) => {
    assert.match(
      await fault(t, { args: ['--nats', 'nats://127.0.0.1:4222'] }),
      /^parley: Unknown option '--nats'\. Try --help\.\n$/,
    );
  });
});
