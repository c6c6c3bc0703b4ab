import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { validate } from 'dockerfile-utils';
import { bundleRelay } from '../../relay/bundle.ts';
import { RelaySettings } from '../../relay/settings.ts';
import { taskRequest } from '../support/api.ts';
import { relayQueues, startRelayProcess } from '../support/relay-process.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DOCKERFILE = readFileSync(join(ROOT, 'relay/Dockerfile'), 'utf8');
const lines = DOCKERFILE.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const finalStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM')));
const instructions = (name: string): string[] =>
  finalStage.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

describe("the image's Dockerfile", () => {
  it('has nothing that a linter complains about', () => {
    const complaints = validate(DOCKERFILE).map(({ message, range }) => `${range.start.line + 1}: ${message}`);
    assert.deepEqual(complaints, []);
  });

  it('names the versions that it builds on, and takes files only from the repository', () => {
    for (const line of lines.filter((each) => each.startsWith('FROM'))) {
      assert.match(line, /^FROM [\w./-]+:[\w.-]+( AS \w+)?$/);
      assert.doesNotMatch(line, /:latest/);
    }
    assert.deepEqual(
      lines.filter((line) => /^ADD |curl |wget |https?:\/\/(?!127)/.test(line)),
      [],
    );
    assert.match(DOCKERFILE, /npm ci /);
  });

  it('ends in an image without a shell, run by a user that is not root, with one file in it', () => {
    assert.match(finalStage[0] ?? '', /distroless\/nodejs24.*:nonroot$/);
    assert.deepEqual(instructions('USER'), ['65532:65532']);
    assert.deepEqual(instructions('COPY'), ['--from=build /out/relay.mjs ./']);
    assert.deepEqual(instructions('RUN'), []);
    for (const line of [...instructions('ENTRYPOINT'), ...instructions('CMD')])
      assert.ok(Array.isArray(JSON.parse(line)));
  });
});

describe('the bundle, started as the image starts it', () => {
  let folder = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-image-'));
    await bundleRelay(folder);
    chmodSync(join(folder, 'relay.mjs'), 0o444);
    chmodSync(folder, 0o555);
  });
  after(() => {
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true });
  });

  const command = (): string[] => {
    const [entrypoint = '[]'] = instructions('ENTRYPOINT');
    const [cmd = '[]'] = instructions('CMD');
    const [node, ...args]: string[] = [...JSON.parse(entrypoint), ...JSON.parse(cmd)];
    assert.equal(node, '/nodejs/bin/node');
    return [process.execPath, ...args];
  };
  const imageEnv = Object.fromEntries(instructions('ENV').map((line) => line.split('=')));

  it('carries messages both ways, tells how it is, and drains on SIGTERM', async (t) => {
    const queues = await relayQueues(t);
    const site = await relaySite(t, { through: queues.through });
    const arthur = await site.agent('arthur', { capabilities: ['intel.news'] });
    await site.agent('tim', { transport: 'nats' });
    const env = { PARLEY_URL: site.address, PARLEY_RELAY_KEY: site.key, NATS_SERVERS: site.nats.url };
    const relay = startRelayProcess(t, { ...imageEnv, ...queues.env, ...env }, command(), folder);
    await relay.ready();
    const request = taskRequest('tim', { payload: { task: 'intel.news' } });
    await jetstream(site.client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
    assert.equal((await arthur.claim({ wait: 10 }))[0]?.message.id, request.id);
    const id = await arthur.request();
    const knights = { durable_name: 'knights', filter_subject: 'roundtable.tasks.security.>' };
    assert.equal((await nextOf(await consumerOf(site.client, 'ROUNDTABLE_TASKS', knights))).body.id, id);

    assert.equal((await relay.ask('/healthz')).status, 200);
    const text = await (await relay.ask('/metrics')).text();
    assert.match(text, /^parley_relay_messages_total\{direction="ingress"\} 1$/m);
    assert.match(text, /^# TYPE parley_relay_lag_messages gauge$/m);
    assert.match(text, /^parley_relay_lag_messages\{source="parley-default-results"\} \d+$/m);
    for (const name of ['bytes', 'retries', 'dead_letters', 'rejected', 'skipped']) {
      assert.match(text, new RegExp(`^parley_relay_${name}_total\\{direction="egress"\\} \\d+$`, 'm'));
    }
    // biome-ignore lint/suspicious/noExplicitAny: the test fails where it is not there
    const json: any = await (await relay.ask('/metrics?format=json')).json();
    assert.equal(json.ingress.messages, 1);
    assert.equal(json.ingress.oldestSeconds >= 0, true);

    const begun = Date.now();
    assert.deepEqual(await relay.kill('SIGTERM'), { code: 0, signal: null });
    assert.ok(Date.now() - begun < 20_000);
  });

  it('names all mistakes in its environment at once, and ends', async (t) => {
    const env = {
      PARLEY_URL: 'parley',
      PARLEY_RELAY_KEY_FILE: '/nowhere/key',
      PARLEY_RELAY_KEY: 'k',
      NATS_BATCH_SIZE: '26',
      NATS_CERT_DIR: '/certs',
      NATS_USER: 'tim',
      NATS_NKEY_SEED_FILE: join(ROOT, 'package.json'),
      NATS_TOKEN: '',
    };
    const relay = startRelayProcess(t, { ...imageEnv, ...env }, command(), folder);
    const { code } = await relay.kill('SIGCONT');
    assert.equal(code, 1);
    const said = [...relay.said().matchAll(/^ {2}(\w+): (.+)$/gm)].map(([, name, mistake]) => `${name}: ${mistake}`);
    assert.deepEqual(said, [
      'PARLEY_URL: must be an address such as https://parley.example.com',
      'PARLEY_QUEUE_URL_PREFIX: is missing',
      'NATS_SERVERS: is missing',
      'NATS_BATCH_SIZE: Too big: expected number to be <=25',
      'PARLEY_RELAY_KEY: either this or PARLEY_RELAY_KEY_FILE must be set',
      'NATS_USER: goes together with NATS_PASSWORD',
      'NATS_NKEY_SEED_FILE: only one of NATS_NKEY_SEED_FILE, NATS_USER can be used',
      'NATS_TLS_ENABLED: must be true where NATS_CERT_DIR is given',
      'PARLEY_RELAY_KEY_FILE: /nowhere/key cannot be read',
      'NATS_NKEY_SEED_FILE: holds no seed of an nkey',
      'NATS_CERT_DIR: /certs has neither ca.pem nor cert.pem and key.pem',
    ]);
    assert.match(relay.said(), /docs\/guides\/nats\.md/);
  });

  it('says in one line that its key is refused, or that nobody answers', async (t) => {
    const site = await relaySite(t);
    const env = {
      PARLEY_QUEUE_URL_PREFIX: 'http://127.0.0.1:1/',
      NATS_SERVERS: site.nats.url,
      NATS_WARMUP_TIMEOUT_SECONDS: '1',
    };
    const refused = startRelayProcess(
      t,
      { ...env, PARLEY_URL: site.address, PARLEY_RELAY_KEY: 'wrong' },
      command(),
      folder,
    );
    assert.equal((await refused.kill('SIGCONT')).code, 1);
    assert.match(refused.said(), /^relay: Parley answered 401: .*PARLEY_RELAY_KEY/m);
    const alone = startRelayProcess(
      t,
      { ...env, PARLEY_URL: 'http://127.0.0.1:1', PARLEY_RELAY_KEY: 'k' },
      command(),
      folder,
    );
    assert.equal((await alone.kill('SIGCONT')).code, 1);
    assert.match(alone.said(), /^relay: Parley cannot be reached at PARLEY_URL/m);
  });
});

it('every variable of the environment is documented', () => {
  const documented = readFileSync(join(ROOT, 'docs/guides/nats.md'), 'utf8');
  for (const name of Object.keys(RelaySettings.shape))
    assert.match(documented, new RegExp(`\\| \`${name}\` \\|`), name);
});
