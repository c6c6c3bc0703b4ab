import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { EXIT } from '../command.ts';

export const MAIN = resolve(import.meta.dirname, '..', 'bin.mjs');

export interface Said {
  code: number | null;
  out: string;
  err: string;
}

type Env = Record<string, string | undefined>;

/** The command line in a folder, with what it needs to find a server. */
export const createRunner = (cwd: string, common: Env) => {
  const env = { ...process.env, XDG_CONFIG_HOME: cwd, USER: 'tester', ...common };
  const start = (args: string[], more: Env = {}) =>
    spawn(process.execPath, [MAIN, ...args], { cwd, env: { ...env, ...more } });
  const parley = async (args: string[], more: Env = {}, input = ''): Promise<Said> => {
    const child = start(args, more);
    const said = { out: '', err: '' };
    child.stdout.on('data', (text) => (said.out += text));
    child.stderr.on('data', (text) => (said.err += text));
    child.stdin.on('error', () => {}).end(input);
    const [code] = await once(child, 'close');
    return { code, ...said };
  };
  const succeeds = async (args: string[], more: Env = {}, input = ''): Promise<string> => {
    const { code, out, err } = await parley(args, more, input);
    assert.equal(code, EXIT.ok, `parley ${args.join(' ')}: ${err}${out}`);
    return out;
  };
  return { env, start, parley, succeeds };
};
