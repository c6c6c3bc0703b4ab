import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { eventually } from './eventually.ts';
import { atEndOf, type Owner } from './server-process.ts';

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache/parley');
const UNPACKED = join(CACHE, 'tmux');

interface Program {
  path: string;
  libraries?: string;
}

/** The tmux of the path, or Debian's with its libraries, unpacked into the project's cache without any rights. */
const findTmux = (): Program => {
  if (spawnSync('tmux', ['-V']).status === 0) return { path: 'tmux' };
  if (!existsSync(UNPACKED)) unpack();
  const lib = join(UNPACKED, 'usr', 'lib');
  const folders = readdirSync(lib, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return {
    path: join(UNPACKED, 'usr', 'bin', 'tmux'),
    libraries: folders.map(({ name }) => join(lib, name)).join(':'),
  };
};

const unpack = (): void => {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'unpacking-'));
  const quiet = { cwd: folder, stdio: 'pipe', encoding: 'utf8' } as const;
  try {
    const needed = execFileSync('apt-cache', ['depends', '--important', 'tmux'], quiet);
    const libraries = [...needed.matchAll(/^\s*(?:Pre)?Depends: (lib[\w.+-]+)$/gm)].map(([, name = '']) => name);
    const wanted = libraries.filter((name) => !/^libc6|^libtinfo|^libsystemd/.test(name));
    execFileSync('apt-get', ['download', '-qq', 'tmux', ...wanted], quiet);
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      execFileSync('dpkg-deb', ['-x', file, 'unpacked'], quiet);
    }
    renameSync(join(folder, 'unpacked'), UNPACKED);
  } catch (cause) {
    throw new Error(
      'These tests need tmux. There is none on the path, and Debian’s could not be fetched with apt-get. Install it.',
      { cause },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

export interface Terminal {
  /** What stands on the screen now, without colours. */
  read(): string;
  send(keys: string): void;
  /** Waits until the screen is as it should be, and returns it. */
  waitFor(sign: RegExp): Promise<string>;
}

const toShellWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** A real terminal of this size in which a command runs. It stays when the command has ended. */
export const openTerminal = (
  owner: Owner,
  command: string[],
  env: Record<string, string | undefined>,
  { columns = 100, rows = 24 } = {},
): Terminal => {
  const { path, libraries } = findTmux();
  const socket = `parley-${randomUUID()}`;
  const tmux = (...args: string[]): string =>
    execFileSync(path, ['-L', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: { ...process.env, LANG: 'C.UTF-8', ...(libraries && { LD_LIBRARY_PATH: libraries }) },
    });
  const settings = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${value}`));
  // Its own libraries are not for what runs in it.
  const line = ['env', '-u', 'LD_LIBRARY_PATH', ...settings, ...command].map(toShellWord).join(' ');
  const size = ['-x', String(columns), '-y', String(rows)];
  tmux('new-session', '-d', ...size, `${line}; echo "ended with $?"; sleep 600`);
  atEndOf(owner, () => {
    try {
      tmux('kill-server');
    } catch {
      // It ends with its last session.
    }
  });
  const read = (): string => tmux('capture-pane', '-p');
  return {
    read,
    send: (keys) => tmux('send-keys', keys),
    waitFor: (sign) =>
      eventually(() => {
        const screen = read();
        if (!sign.test(screen)) throw new Error(`The terminal does not show ${sign}:\n${screen}`);
        return screen;
      }),
  };
};
