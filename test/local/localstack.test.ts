import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { startFront } from '../../local/localstack/front.ts';
import { portOf } from '../../local/template/http/listen.ts';
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
  return `http://127.0.0.1:${await portOf(server, 0, '127.0.0.1')}/`;
};

/** What it says when it does not start. */
const fault = async (t: TestContext, ...args: string[]): Promise<string> => {
  const child = execFile(process.execPath, [START, '--data', tempDir(t), ...args], { env: { PATH: '/nowhere' } });
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

  it('has no relay beside it, and says so to whoever names a NATS', async (t) => {
    assert.match(
      await fault(t, '--nats', 'nats://127.0.0.1:4222'),
      /^parley: Unknown option '--nats'\. Try --help\.\n$/,
    );
  });
});
