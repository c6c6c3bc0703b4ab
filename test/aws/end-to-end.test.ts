import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { atEndOf, tempDir } from '../support/server-process.ts';

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

const startAws = async (): Promise<{ address: string; said: { text: string } }> => {
  const data = tempDir(OWNER);
  const { child, said, ended } = started(['local/start-aws.ts', '--port', '0', '--data', data], {});
  const tooLong = AbortSignal.timeout(START_MS);
  while (!said.text.includes('Ctrl-C stops it.')) {
    await Promise.race([
      once(child.stdout, 'data', { signal: tooLong }),
      ended.then((code) => assert.fail(`start:aws ended with ${code}: ${said.text}`)),
    ]);
  }
  return { address: /listening on (http:\S+)/.exec(said.text)?.[1] ?? assert.fail(said.text), said };
};

describe('npm run start:aws', () => {
  it('passes the end-to-end tests, all of them, and refuses no function what it asks of AWS', {
    timeout: START_MS + SUITE_MS,
  }, async () => {
    const { address, said: saidByAws } = await startAws();
    const tests = join('test', 'e2e', '*.test.ts');
    const { said, ended } = started(
      ['--test', '--test-concurrency=1', '--test-reporter=spec', '--test-timeout=300000', tests],
      { PARLEY_URL: address },
    );
    assert.equal(await ended, 0, said.text);
    assert.match(said.text, /^ℹ fail 0$/m);
    assert.doesNotMatch(said.text, /^ℹ (tests|pass) 0$/m);
    // What a function is refused may be made good by another, a while later.
    assert.doesNotMatch(saidByAws.text, /is not authorized to perform/);
  });
});
