import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { lockFolder } from '../../local/template/folder-lock.ts';
import { callerWith, httpTransport, registered } from '../support/api.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';

const START = resolve(import.meta.dirname, '../../local/start-aws.ts');

const launch = (t: TestContext, args: string[], env: Record<string, string> = {}) => {
  const { PARLEY_ADMIN_KEY: _key, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const child = spawn(process.execPath, [START, ...args], { env: { ...inherited, ...env }, stdio: 'pipe' });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr += text;
  });
  const closed = once(child, 'close').then(([code]) => ({ code, ...said }));
  atEndOf(t, () => {
    child.kill('SIGKILL');
    return closed;
  });
  return { child, said, closed };
};

/** Starts and waits for the greeting. */
const started = async (t: TestContext, args: string[]) => {
  const { child, said, closed } = launch(t, args);
  const ended = closed.then(({ code, stderr }) => {
    throw new Error(`it ended with ${code}: ${stderr}`);
  });
  ended.catch(() => {});
  while (!said.stdout.includes('Ctrl-C stops it.')) await Promise.race([once(child.stdout, 'data'), ended]);
  const address = /listening on (http:\S+)/.exec(said.stdout)?.[1] ?? '';
  const adminKey = /^Admin key: (\S+)$/m.exec(said.stdout)?.[1] ?? '';
  const stop = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return closed;
  };
  return { address, adminKey, transport: httpTransport(address), stop };
};

/** The processes whose command line names the folder, but for this one. */
const processesOf = (dir: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .filter((command) => command.includes(dir));

describe('npm run start:aws', () => {
  it('runs the template, ends with all that it started, and finds everything again', async (t) => {
    const dir = tempDir(t);
    const first = await started(t, ['--port', '0', '--data', dir]);
    assert.equal(statSync(join(dir, 'admin-key')).mode & 0o777, 0o600);
    assert.equal((await fetch(`${first.address}/healthz`)).status, 200);
    const tim = await registered(first.transport, callerWith(first.transport, first.adminKey), 'tim');
    const id = await tim.request();
    assert.ok(processesOf(dir).some((command) => command.includes('DynamoDBLocal')));
    const exit = await first.stop('SIGTERM');
    assert.deepEqual([exit.code, exit.stderr], [0, '']);
    assert.deepEqual(processesOf(dir), []);

    const second = await started(t, ['--port', '0', '--data', dir, '--report-grants']);
    assert.equal(second.adminKey, first.adminKey);
    const reply = await callerWith(second.transport, tim.key).call('GET', `/v1/tasks/${id}`);
    assert.equal(reply.body.state, 'requested', JSON.stringify(reply.body));
    const { stdout } = await second.stop('SIGINT');
    assert.match(stdout, /^Grants that no call has needed:\n( {2}parley-\S+ {2}\w+:\w+ {2}arn:\S+\n)+$/m);
    assert.doesNotMatch(stdout, / {2}parley-\w+-admin-key {2}/);
  });

  const faults: [what: string, args: string[], says: RegExp, env?: Record<string, string>][] = [
    ['an option that there is not', ['--colour', 'red'], /--colour.*--help/],
    ['a port that is no number', ['--port', 'http'], /--port.*0 to 65535.*"http"/],
    ['a short admin key', [], /PARLEY_ADMIN_KEY.*16/, { PARLEY_ADMIN_KEY: 'short' }],
    ['no Java', ['--port', '0'], /Java 17.*install/, { PATH: '/nowhere' }],
    ['an address of another machine', ['--port', '0', '--host', '203.0.113.1'], /--host/],
  ];
  for (const [what, args, says, env] of faults) {
    it(`tells a fault in one line: ${what}`, async (t) => {
      const { code, stderr } = await launch(t, ['--data', tempDir(t), ...args], env).closed;
      assert.equal(code, 1);
      assert.match(stderr, /^parley: [^\n]+\n$/);
      assert.match(stderr, says);
    });
  }

  it('tells in one line that another one uses the folder', async (t) => {
    const dir = tempDir(t);
    mkdirSync(join(dir, 'aws'));
    const lock = lockFolder(join(dir, 'aws'));
    atEndOf(t, () => lock.release());
    const { code, stderr } = await launch(t, ['--port', '0', '--data', dir]).closed;
    assert.equal(code, 1);
    assert.match(stderr, /^parley: Another Parley is using [^\n]+--data\.\n$/);
  });

  it('explains itself with --help', async (t) => {
    const { code, stdout, stderr } = await launch(t, ['--help']).closed;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    for (const option of ['--port', '--host', '--data', '--report-grants', 'PARLEY_ADMIN_KEY']) {
      assert.ok(stdout.includes(option), option);
    }
  });
});
