import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadAdminKeys } from '../../local/admin-keys.ts';
import { getPort } from '../../local/cloudformation-runner/index.ts';
import { deploy, setAdminKeys } from '../../local/localstack/deploy.ts';
import { findPython } from '../../local/localstack/find-python.ts';
import { startFront } from '../../local/localstack/start-front.ts';
import { LIMITS } from '../localstack/limits.ts';
import { tempDir } from '../support/server-process.ts';

const START = new URL('../../local/start-localstack.ts', import.meta.url).pathname;

/** LocalStack: tells functions apart by the host that a request names, and says what it was asked. */
const echoing = async (t: TestContext): Promise<string> => {
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray()).toString();
    outgoing.writeHead(202, { 'content-type': 'application/json', traceparent: 'made here' });
    const { host, authorization } = incoming.headers;
    outgoing.end(JSON.stringify([host, incoming.method, incoming.url, authorization, body]));
  });
  t.after(() => server.close());
  return `http://127.0.0.1:${await getPort(server, 0, '127.0.0.1')}`;
};

const toUrl = (name: string): string => `http://${name}.lambda-url.us-east-1.localhost.localstack.cloud:4566/`;

/** A command that is not installed here. */
const script = (folder: string, name: string, lines: string[]): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
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
  it('has one address in front of its functions, each route goes to its own, and no name needs a DNS', async (t) => {
    const routes = {
      'POST /v1/messages': toUrl('ingest'),
      'ANY /v1/tasks/{proxy+}': toUrl('tasks'),
      $default: toUrl('api'),
    };
    const front = await startFront(await echoing(t), routes, 0, '127.0.0.1');
    t.after(() => front.close());
    const ask = async (method: string, path: string, body?: string) => {
      const reply = await fetch(front.address + path, { method, body, headers: { authorization: 'Bearer key' } });
      assert.deepEqual([reply.status, reply.headers.get('traceparent')], [202, 'made here']);
      const said: string[] = JSON.parse(await reply.text());
      return [said[0]?.split('.')[0], ...said.slice(1)];
    };
    assert.deepEqual(await ask('POST', '/v1/messages?wait=1', '{"a":1}'), [
      ...['ingest', 'POST', '/v1/messages?wait=1', 'Bearer key', '{"a":1}'],
    ]);
    assert.equal((await ask('GET', '/v1/messages'))[0], 'api');
  });

  it('is asked for a path that is encoded once more, because it decodes one before the function does', async (t) => {
    const front = await startFront(await echoing(t), { $default: toUrl('api') }, 0, '127.0.0.1');
    t.after(() => front.close());
    const reply = await fetch(`${front.address}/v1/tasks/a%2Fb%3Fc%25?q=%2F`);
    const [, , url = '']: string[] = JSON.parse(await reply.text());
    assert.equal(url, '/v1/tasks/a%252Fb%253Fc%2525?q=%2F');
    assert.equal(decodeURIComponent(new URL(url, toUrl('api')).pathname), '/v1/tasks/a%2Fb%3Fc%25');
  });

  it('that does not answer is reported as a bad gateway', async (t) => {
    const front = await startFront('http://127.0.0.1:9', { $default: toUrl('api') }, 0, '127.0.0.1');
    t.after(() => front.close());
    for (const options of [{}, { method: 'POST', body: 'x'.repeat(1_000_000) }]) {
      const reply = await fetch(front.address, options);
      assert.equal(reply.status, 502);
      assert.match(await reply.text(), /The function did not answer/);
    }
  });

  it('is reached by its address, so that neither the deployment nor its uploads need a DNS', async (t) => {
    const root = tempDir(t);
    const outputs = { Parley: { Routes: '{}', AdminKeyCommand: 'aws lambda invoke --function-name admin-key-1 -' } };
    script(join(root, 'node_modules', '.bin'), 'cdklocal', [
      'echo "$AWS_ENDPOINT_URL $AWS_ENDPOINT_URL_S3" >> asked',
      'mkdir -p cdk.out/localstack',
      `echo '${JSON.stringify(outputs)}' > cdk.out/localstack/outputs.json`,
    ]);
    assert.deepEqual(await deploy(root, 'http://127.0.0.1:4566'), { routes: {}, adminKeyFunction: 'admin-key-1' });
    const line = 'http://127.0.0.1:4566 http://127.0.0.1:4566\n';
    assert.equal(readFileSync(join(root, 'asked'), 'utf8'), line + line);
  });

  it('as a container runs functions of any architecture, removes what has expired, and reads the stream of the table', async (t) => {
    const bin = tempDir(t);
    script(bin, 'docker', [`echo "$@" >> ${bin}/asked`, 'if [ "$1" = run ]; then exit 1; fi']);
    await fault(t, { env: { PATH: `${bin}:/usr/bin:/bin` } });
    const asked = readFileSync(join(bin, 'asked'), 'utf8');
    for (const setting of [
      'LAMBDA_IGNORE_ARCHITECTURE=1',
      'DYNAMODB_REMOVE_EXPIRED_ITEMS=1',
      'PROVIDER_OVERRIDE_DYNAMODB=v2',
    ]) {
      assert.ok(asked.includes(`--env ${setting} `), asked);
    }
    assert.match(asked, /--publish 127\.0\.0\.1:4566:4566 /);
  });

  it('as a package runs on the first Python that knows its syntax, or on the one that is named', async (t) => {
    const bin = tempDir(t);
    const env = { PATH: bin, PYENV_ROOT: bin };
    await assert.rejects(findPython(env), /needs Python 3\.12 or newer .* none on the path/);
    script(bin, 'python3', ['echo 3.11']);
    await assert.rejects(findPython(env), /needs Python 3\.12 or newer/);
    script(join(bin, 'versions', '3.12.1', 'bin'), 'python3', ['echo 3.12']);
    assert.equal(await findPython(env), join(bin, 'versions', '3.12.1', 'bin', 'python3'));
    script(bin, 'python3.13', ['echo 3.13']);
    assert.equal(await findPython(env), 'python3.13');
    await assert.rejects(findPython({ ...env, PARLEY_PYTHON: 'python3' }), /python3 is none/);
  });

  it('says in one line what to do where there is no Docker', async (t) => {
    assert.match(await fault(t), /^parley: Docker does not answer\. .*-- --python\. .*npm run start:aws\.\n$/);
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

  it('is compared with tests that exist', () => {
    const files = LIMITS.flatMap(({ tests }) => tests.map((test) => test.split(':')[0] ?? ''));
    for (const file of files) assert.ok(existsSync(join(import.meta.dirname, '..', file)), file);
  });

  it('has no relay beside it, and says so to whoever names a NATS', async (t) => {
    assert.match(
      await fault(t, { args: ['--nats', 'nats://127.0.0.1:4222'] }),
      /^parley: Unknown option '--nats'\. Try --help\.\n$/,
    );
  });
});
