import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import type { UnusedGrant } from '../../local/cloudformation-runner/index.ts';
import config from '../../parley.config.ts';
import { listQueues } from '../../shared/ports/queue-names.ts';
import { isLong } from '../support/scale.ts';
import { atEndOf, tempDir } from '../support/server-process.ts';
import { SHORT_LIVED_JAVA } from '../support/short-lived-java.ts';
import { BY_CHANCE, needlessGrants, PROVEN_ALONE } from './needless-grants.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ADMIN_KEY = 'an-admin-key-for-the-end-to-end-tests';
/** With synthesizing it first, on a machine that does other things too. */
const START_MS = 180_000;
const SUITE_MS = 900_000;

const OWNER = { after };
const { NODE_TEST_CONTEXT: _context, PARLEY_URL: _url, ...ENV } = process.env;

/** A process with all that it said; it ends with the test. */
const started = (args: string[], env: Record<string, string>) => {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...ENV, PARLEY_ADMIN_KEY: ADMIN_KEY, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.text += text;
    });
  }
  const ended = once(child, 'close').then(([code]) => Number(code));
  atEndOf(OWNER, async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return { child, said, ended };
};

const startAws = async () => {
  const data = tempDir(OWNER);
  const { child, said, ended } = started(
    ['local/start-aws.ts', '--port', '0', '--data', data, '--report-grants'],
    SHORT_LIVED_JAVA,
  );
  const tooLong = AbortSignal.timeout(START_MS);
  while (!said.text.includes('Ctrl-C stops it.')) {
    await Promise.race([
      once(child.stdout, 'data', { signal: tooLong }),
      ended.then((code) => assert.fail(`start:aws ended with ${code}: ${said.text}`)),
    ]);
  }
  const address = /listening on (http:\S+)/.exec(said.text)?.[1] ?? assert.fail(said.text);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, said.text);
  };
  return { address, said, stop };
};

/** What it says at its end that no call has needed. */
const unusedIn = (text: string): UnusedGrant[] => {
  const [, report] = text.split('Grants that no call has needed:\n');
  const lines = (report ?? assert.fail(text)).trim().split('\n');
  return lines.map((line) => {
    const [functionName = '', action = '', resource = ''] = line.trim().split(/\s+/);
    return { functionName, action, resource };
  });
};

const isProvenAlone = (grant: string): boolean => PROVEN_ALONE.some((name) => grant.startsWith(`${name} `));

describe('npm run start:aws', () => {
  it('passes the end-to-end tests, all of them, refuses no function what it asks of AWS, and allows none what it never asks', {
    timeout: START_MS + SUITE_MS,
  }, async () => {
    const { address, said: saidByAws, stop } = await startAws();
    const tests = join('test', 'e2e', '*.test.ts');
    const { said, ended } = started(
      ['--test', '--test-concurrency=2', '--test-reporter=spec', '--test-timeout=300000', tests],
      { PARLEY_URL: address, PARLEY_TESTS: isLong ? 'long' : 'short' },
    );
    assert.equal(await ended, 0, said.text);
    assert.match(said.text, /^ℹ fail 0$/m);
    assert.doesNotMatch(said.text, /^ℹ (tests|pass) 0$/m);
    // What a function is refused may be made good by another, a while later.
    assert.doesNotMatch(saidByAws.text, /is not authorized to perform/);
    await stop();
    const needless = needlessGrants(unusedIn(saidByAws.text), listQueues(config.projects));
    assert.deepEqual(
      needless.filter((grant) => !isProvenAlone(grant) && !(grant in BY_CHANCE)),
      [],
    );
  });
});
