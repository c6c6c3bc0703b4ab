import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { atEndOf, type Owner } from './server-process.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const ADMIN_KEY = 'an-admin-key-for-the-end-to-end-tests';
export const END_TO_END_MS = 900_000;

const { NODE_TEST_CONTEXT: _context, PARLEY_URL: _url, ...ENV } = process.env;

/** A process with all that it said; it ends with its owner. */
const launch = (owner: Owner, args: string[], env: Record<string, string>) => {
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
  atEndOf(owner, async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return { child, said, ended };
};

/** Runs one of the start commands until it listens. */
export const startListening = async (
  owner: Owner,
  args: string[],
  { env = {}, startMs }: { env?: Record<string, string>; startMs: number },
) => {
  const { child, said, ended } = launch(owner, args, env);
  const tooLong = AbortSignal.timeout(startMs);
  while (!said.text.includes('Ctrl-C stops it.')) {
    await Promise.race([
      once(child.stdout, 'data', { signal: tooLong }),
      ended.then((code) => assert.fail(`${args[0]} ended with ${code}: ${said.text}`)),
    ]);
  }
  const address = /listening on (http:\S+)/.exec(said.text)?.[1] ?? assert.fail(said.text);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, said.text);
  };
  return { address, said, stop };
};

/** How many there are. */
export const passEndToEndTests = async (owner: Owner, address: string, scale: 'short' | 'long'): Promise<number> => {
  const { said, ended } = launch(
    owner,
    [
      ...['--test', '--test-concurrency=2', '--test-reporter=spec', '--test-timeout=300000'],
      join('test', 'e2e', '*.test.ts'),
    ],
    { PARLEY_URL: address, PARLEY_TESTS: scale },
  );
  assert.equal(await ended, 0, said.text);
  assert.match(said.text, /^ℹ fail 0$/m);
  const passed = Number(/^ℹ pass (\d+)$/m.exec(said.text)?.[1]);
  assert.ok(passed > 0, said.text);
  return passed;
};
