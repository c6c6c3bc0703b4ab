import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { validate } from 'dockerfile-utils';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { bundlePrograms } from '../../release/bundle-programs.ts';
import { callerWith, httpTransport, registered, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { natsServer } from '../support/nats-server.ts';
import { atEndOf, lastingPort, tempDir } from '../support/server-process.ts';

const OWNER = { after };
const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const DOCKERFILE = read('Dockerfile');
const lines = DOCKERFILE.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const finalStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM')));
const instructions = (name: string): string[] =>
  finalStage.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
const parseWords = (text = '[]'): string[] => z.array(z.string()).parse(JSON.parse(text));

const Compose = z.strictObject({
  services: z.record(
    z.string(),
    z.looseObject({
      build: z.union([z.string(), z.object({ context: z.string(), dockerfile: z.string() })]).optional(),
      image: z.string(),
      command: z.array(z.string()).optional(),
      ports: z.array(z.string()).default([]),
      volumes: z.array(z.string()).default([]),
      depends_on: z.array(z.string()).default([]),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
});

const composeDocument = parseDocument(read('compose.yaml'), { strict: true, uniqueKeys: true });
const compose = Compose.parse(composeDocument.toJS());

describe("the server's Dockerfile", () => {
  it('has nothing that a linter complains about', () => {
    const complaints = validate(DOCKERFILE).map(({ message, range }) => `${range.start.line + 1}: ${message}`);
    assert.deepEqual(complaints, []);
  });

  it('names the versions that it builds on, as the Dockerfile of the relay does, and takes files only from the repository', () => {
    const bases = (text: string) => text.split('\n').filter((line) => line.startsWith('FROM'));
    assert.deepEqual(bases(DOCKERFILE), bases(read('relay/Dockerfile')));
    assert.deepEqual(
      lines.filter((line) => /^ADD |curl |wget |https?:\/\/(?!127)/.test(line)),
      [],
    );
  });

  it('ends in an image without a shell, run by a user that is not root and owns the data', () => {
    assert.match(finalStage[0] ?? '', /distroless\/nodejs24.*:nonroot$/);
    assert.deepEqual(instructions('USER'), ['65532:65532']);
    assert.deepEqual(instructions('RUN'), []);
    assert.deepEqual(instructions('COPY'), ['--from=build /out ./', '--from=build --chown=65532:65532 /data /data']);
    assert.deepEqual(instructions('VOLUME'), ['/data']);
  });
});

describe('compose.yaml', () => {
  it('is valid, and every service and volume that it names is there', () => {
    assert.deepEqual([...composeDocument.errors, ...composeDocument.warnings], []);
    const { services, volumes } = compose;
    for (const [name, service] of Object.entries(services)) {
      for (const other of service.depends_on) assert.ok(other in services, `${name} depends on ${other}`);
      for (const volume of service.volumes) assert.ok((volume.split(':')[0] ?? '') in volumes, `${name}: ${volume}`);
      const { build } = service;
      const file = build === undefined || typeof build === 'string' ? 'Dockerfile' : build.dockerfile;
      assert.ok(existsSync(join(ROOT, file)), file);
      assert.doesNotMatch(service.image, /:latest$/);
    }
  });

  it('opens no port to other machines, because what Parley speaks is plain HTTP', () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports);
    assert.ok(ports.length > 0);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
  });
});

describe('the programs, started as the image starts them', () => {
  const home = tempDir(OWNER);
  const app = join(home, 'app');
  const data = join(home, 'data');
  mkdirSync(data);

  const prepared = (async () => {
    const inputs = await bundlePrograms(ROOT, app);
    for (const folder of [join(app, 'bin'), app]) {
      for (const name of readdirSync(folder)) chmodSync(join(folder, name), folder === app ? 0o555 : 0o444);
      chmodSync(folder, 0o555);
    }
    atEndOf(OWNER, () => {
      for (const folder of [app, join(app, 'bin')]) chmodSync(folder, 0o755);
    });
    return inputs;
  })();

  const toHost = (words: string[]): string[] =>
    words.map((word) => (word === '/nodejs/bin/node' ? process.execPath : word === '/data' ? data : word));
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, PARLEY_ADMIN_KEY: _key, ...inherited } = process.env;
  const env = { ...inherited, ...Object.fromEntries(instructions('ENV').map((line) => line.split('='))) };

  const start = async (command: string[]) => {
    const [node = '', ...args] = [...toHost(parseWords(instructions('ENTRYPOINT')[0])), ...command];
    const child = spawn(node, args, { cwd: app, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const exited = once(child, 'exit');
    atEndOf(OWNER, () => child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => {
        said += text;
      });
    }
    await eventually(() => assert.match(said, /Parley is listening on/, said));
    const stop = async (): Promise<unknown[]> => {
      child.kill('SIGTERM');
      return await exited;
    };
    return { said: () => said, stop };
  };

  const withPort = (command: string[], port: number): string[] =>
    command.map((word) => (word === '4100' ? String(port) : word));

  it('need no file that the image is built without', async () => {
    const ignored = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && line !== 'node_modules');
    const inputs = [...(await prepared)];
    assert.ok(inputs.length > 100);
    assert.deepEqual(
      inputs.filter((input) => ignored.some((folder) => input.startsWith(`${folder}/`))),
      [],
    );
  });

  it('serve agents of HTTP and NATS, are healthy, keep everything over a restart, and end on SIGTERM', async () => {
    await prepared;
    const nats = await natsServer(OWNER);
    const port = await lastingPort();
    const { command = [] } = compose.services.parley ?? {};
    const inCompose = withPort(command, port).map((word) => (word.startsWith('nats://') ? nats.url : word));
    const first = await start(inCompose);
    const key = readFileSync(join(data, 'admin-key'), 'utf8').trim();
    assert.ok(first.said().includes(key));
    const transport = httpTransport(`http://127.0.0.1:${port}`);
    const admin = callerWith(transport, key);
    const worker = await registered(transport, admin, 'worker', { capabilities: ['intel.news'] });
    const tim = await registered(transport, admin, 'tim', { transport: 'nats' });
    await eventually(async () => {
      assert.equal((await transport('GET', '/healthz', {}, undefined)).body.nats, 'connected');
    });
    const client = await connect({ servers: nats.url });
    atEndOf(OWNER, () => client.close());
    const request = taskRequest(tim.id, { payload: { task: 'intel.news' } });
    await jetstream(client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
    const [task] = await worker.claim({ wait: 10 });
    assert.equal(task.message.id, request.id);

    const [, test = ''] = /HEALTHCHECK .*? CMD (\[.*\])/.exec(finalStage.join('\n')) ?? [];
    const [node = '', ...args] = toHost(parseWords(test)).map((word) => word.replace(':4100', `:${port}`));
    await run(node, args);
    const status = await run(process.execPath, ['bin/parley.mjs', 'status', '--url', `http://127.0.0.1:${port}`], {
      cwd: app,
      env: { ...env, PARLEY_KEY: key },
    });
    assert.match(status.stdout, /answers; NATS is connected/);

    assert.deepEqual(await first.stop(), [0, null]);
    await assert.rejects(run(node, args), 'unhealthy once it has stopped');
    const second = await start(withPort(parseWords(instructions('CMD')[0]), port));
    assert.ok(!second.said().includes(key));
    assert.equal((await worker.task(request.id)).state, 'claimed');
    assert.deepEqual(await second.stop(), [0, null]);
  });
});
