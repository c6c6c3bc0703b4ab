import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Caller, TestAgent } from './api.ts';
import { atEndOf, type Owner } from './server-process.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../examples/worker');

/** Runs one of the example's programs until the test ends it. */
export const startExample = (
  owner: Owner,
  program: 'worker' | 'tool-service',
  { id, key }: TestAgent,
  url: string,
): ChildProcess => {
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = spawn(process.execPath, [`${EXAMPLES}/${program}.ts`], {
    env: { ...env, PARLEY_URL: url, AGENT: id, KEY: key },
    stdio: 'ignore',
  });
  atEndOf(owner, () => killed(child));
  return child;
};

export const killed = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};

/** What the example's worker put into a box. */
export const contentsOf = async (caller: Caller, box: string): Promise<{ type: string; text: string }[]> => {
  const { body } = await caller.call('GET', `/v1/boxes/${box}/cards`);
  return body.cards.map(({ type, content }: { type: string; content: { text: string } }) => ({
    type,
    text: content.text,
  }));
};
