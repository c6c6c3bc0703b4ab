import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { callerWith } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { lastingPort, runToEnd, type ServerProcess, startServer, tempDir } from '../support/server-process.ts';

const run = promisify(execFile);

const curlLineOf = (server: ServerProcess): string => {
  const line = server
    .stdout()
    .split('\n')
    .find((text) => text.startsWith('curl '));
  assert.ok(line, server.stdout());
  return line;
};

describe('a start', () => {
  it('prints its address, where the admin key is, and a command that works as it is', async (t) => {
    const server = await startServer(t, { dir: tempDir(t) });
    assert.match(server.stdout(), /^Parley is listening on http:\/\/127\.0\.0\.1:\d+ /);
    assert.equal((await server.admin.call('GET', '/v1/agents')).status, 200);
    const { stdout } = await run('bash', ['-c', curlLineOf(server)]);
    assert.equal(JSON.parse(stdout).domains[0].name, 'security');
    assert.equal(server.stderr(), '');
  });

  it('prints the admin key at the first start only, and never one from the environment', async (t) => {
    const dir = tempDir(t);
    const first = await startServer(t, { dir });
    assert.ok(first.stdout().includes(first.adminKey));
    await first.stop();
    const second = await startServer(t, { dir });
    assert.ok(!second.stdout().includes(second.adminKey));
    const key = 'a-key-that-somebody-chose';
    const chosen = await startServer(t, { dir: tempDir(t), env: { PARLEY_ADMIN_KEY: key } });
    assert.ok(!chosen.stdout().includes(key));
  });

  it('prints a line for each request with --verbose', async (t) => {
    const server = await startServer(t, { dir: tempDir(t), args: ['--verbose'] });
    await server.admin.call('GET', '/v1/agents/nobody');
    await eventually(() => assert.match(server.stderr(), /^\S+Z GET \/v1\/agents\/nobody 404 [\d.]+ ms admin$/m));
  });

  it('takes its configuration from a file outside the clone, as JSON or as a module', async (t) => {
    const dir = tempDir(t);
    const config = { projects: { default: { domains: { kitchen: { description: 'dishes' } } } } };
    const files = { 'config.json': JSON.stringify(config), 'config.ts': `export default ${JSON.stringify(config)};` };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(dir, name), text);
      const server = await startServer(t, { dir: tempDir(t), args: ['--config', join(dir, name)] });
      const { domains } = (await server.admin.call('GET', '/v1/domains')).body;
      assert.deepEqual(
        domains.map((domain: { name: string }) => domain.name),
        ['kitchen'],
      );
      await server.stop();
    }
  });

  it('refuses a wrong configuration with all its mistakes in one line', async (t) => {
    const file = join(tempDir(t), 'config.json');
    writeFileSync(file, JSON.stringify({ projects: {}, tasks: { leaseMs: 'long' }, colour: 'red' }));
    const { code, stderr } = await runToEnd(t, ['--port', '0', '--data', tempDir(t), '--config', file]);
    assert.equal(code, 1);
    assert.match(stderr, /tasks\.leaseMs/);
    assert.match(stderr, /colour/);
  });

  it('keeps the admin key in a file that only its owner can read', async (t) => {
    const dir = tempDir(t);
    const { adminKey } = await startServer(t, { dir });
    const file = join(dir, 'admin-key');
    assert.equal(readFileSync(file, 'utf8').trim(), adminKey);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it('keeps what agents tell each other from others, also in a folder that they can look into', async (t) => {
    const dir = tempDir(t);
    chmodSync(dir, 0o755);
    const server = await startServer(t, { dir });
    const tim = await server.agent('tim');
    await tim.request({ payload: { task: 'security.briefing', params: { large: 'x'.repeat(500_000) } } });
    // A blob is moved when its task has come to own it.
    await eventually(() => {
      const files = readdirSync(dir, { recursive: true, withFileTypes: true });
      assert.ok(files.some((file) => file.name === 'parley.db'));
      for (const file of files) {
        assert.equal(statSync(join(file.parentPath, file.name)).mode & 0o077, 0, file.name);
      }
    });
  });

  it('takes the admin key from PARLEY_ADMIN_KEY', async (t) => {
    const dir = tempDir(t);
    const first = await startServer(t, { dir });
    await first.stop();
    const key = 'a-key-that-somebody-chose';
    const server = await startServer(t, { dir, env: { PARLEY_ADMIN_KEY: key } });
    assert.equal(server.adminKey, key);
    assert.equal((await server.admin.call('GET', '/v1/agents')).status, 200);
    const formerly = callerWith(server.transport, first.adminKey);
    assert.equal((await formerly.call('GET', '/v1/agents')).status, 401);
  });

  it('finds the tasks, agents and keys of the start before it', async (t) => {
    const dir = tempDir(t);
    const first = await startServer(t, { dir, port: await lastingPort() });
    const tim = await first.agent('tim');
    const galahad = await first.agent('galahad');
    const done = await tim.request();
    await galahad.claim();
    assert.equal((await galahad.complete(done)).status, 202);
    const open = await tim.request();
    await first.stop();
    const second = await startServer(t, { dir, port: first.port });
    assert.equal(second.adminKey, first.adminKey);
    assert.equal((await tim.task(done)).status, 'completed');
    const [claimed] = await galahad.claim();
    assert.equal(claimed.message.id, open);
    assert.deepEqual(
      (await tim.inbox(5)).map((message) => message.correlationId),
      [done],
    );
  });

  it('explains itself with --help', async (t) => {
    const { code, stdout, stderr } = await runToEnd(t, ['--help']);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    for (const option of ['--port', '--host', '--data', 'PARLEY_ADMIN_KEY']) assert.ok(stdout.includes(option), option);
  });
});

describe('a mistake in the command', { concurrency: 2 }, () => {
  const mistakes: [what: string, args: string[], says: RegExp, env?: Record<string, string>][] = [
    ['an option that there is not', ['--colour', 'red'], /--colour.*--help/],
    ['an argument too many', ['somewhere'], /somewhere.*--help/],
    ['a port that is no number', ['--port', 'http'], /--port.*0 to 65535.*"http"/],
    ['a port that is too large', ['--port', '65536'], /--port.*0 to 65535.*"65536"/],
    ['a port without a number', ['--port'], /--port.*--help/],
    ['a port that another option took the place of', ['--port', '--data', 'x'], /--port.*--help/],
    ['a folder without a name', ['--port', '0', '--data', ''], /--data/],
    ['an address of another machine', ['--port', '0', '--host', '203.0.113.1'], /--host/],
    ['a short admin key', ['--port', '0'], /PARLEY_ADMIN_KEY.*16/, { PARLEY_ADMIN_KEY: 'short' }],
    [
      'an admin key that is easily guessed',
      ['--port', '0'],
      /different characters/,
      { PARLEY_ADMIN_KEY: '1'.repeat(16) },
    ],
    ['an admin key with a space', ['--port', '0'], /PARLEY_ADMIN_KEY/, { PARLEY_ADMIN_KEY: 'several words, 1 space' }],
    [
      'an admin key that no header carries',
      ['--port', '0'],
      /PARLEY_ADMIN_KEY/,
      { PARLEY_ADMIN_KEY: 'schlüssel-für-parley' },
    ],
  ];
  for (const [what, args, says, env] of mistakes) {
    it(`is told in one line: ${what}`, async (t) => {
      const folder = args.includes('--data') ? [] : ['--data', tempDir(t)];
      const { code, stdout, stderr } = await runToEnd(t, [...folder, ...args], { env });
      assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
      assert.match(stderr, /^parley: [^\n]+\n$/);
      assert.match(stderr, says);
    });
  }
});

/** Opens connections that are then kept, so that what is sent next arrives in the order in which it is sent. */
const connected = (server: ServerProcess) =>
  Promise.all(Array.from({ length: 8 }, () => server.admin.call('GET', '/v1/agents')));

/** Once it has come back twice, whoever called before it waits. */
const roundTrips = async (server: ServerProcess): Promise<void> => {
  for (let trip = 0; trip < 2; trip++) await server.admin.call('GET', '/v1/agents');
};

describe('the end', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`comes with ${signal}, and every waiting caller is answered first`, async (t) => {
      const server = await startServer(t, { dir: tempDir(t) });
      const [tim, galahad] = [await server.agent('tim'), await server.agent('galahad')];
      const id = await tim.request();
      await galahad.claim();
      await connected(server);
      const stream = await fetch(`${server.address}/v1/events`, {
        headers: { authorization: `Bearer ${tim.key}`, accept: 'text/event-stream' },
      });
      const polls = Promise.all([
        galahad.call('POST', '/v1/claims', { wait: 20 }),
        galahad.call('POST', '/v1/claims', { wait: 20, claimId: 'a-claim' }),
        tim.call('GET', `/v1/tasks/${id}?wait=25`),
        tim.call('GET', '/v1/inbox?wait=20'),
        // Whoever is still waiting after two seconds is cut off, and its poll fails.
        stream.text(),
      ]);
      await roundTrips(server);
      const exit = await server.kill(signal);
      const [claims, repeatable, task, inbox, streamed] = await polls;
      assert.deepEqual([claims.status, repeatable.status, task.status, inbox.status], [200, 200, 200, 200]);
      assert.deepEqual(
        [claims.body, repeatable.body, inbox.body],
        [{ tasks: [] }, { tasks: [] }, { messages: [], traces: [] }],
      );
      assert.equal(task.body.state, 'claimed');
      assert.match(streamed, /^id: \S+\n\n/);
      assert.deepEqual([exit.code, exit.stderr], [0, '']);
    });
  }

  it('does not wait for callers that only keep their connection', async (t) => {
    const cutOffMs = 2000;
    const dir = tempDir(t);
    const times: number[] = [];
    // A busy machine may be slow once; with something to wait for, it never takes less than the time to the cut-off.
    while (times.length < 3 && !times.some((ms) => ms < cutOffMs)) {
      const server = await startServer(t, { dir, env: { PARLEY_ADMIN_KEY: 'an-admin-key-for-tests' } });
      await connected(server);
      await server.admin.call('PUT', '/v1/agents/tim', { dialect: 'round-table' });
      const poll = server.admin.call('GET', '/v1/inbox?wait=20&agent=tim');
      await roundTrips(server);
      const begun = performance.now();
      await server.stop();
      times.push(performance.now() - begun);
      assert.equal((await poll).status, 200);
    }
    assert.ok(
      times.some((ms) => ms < cutOffMs),
      `it took ${times} ms`,
    );
  });
});
