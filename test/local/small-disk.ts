import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { atEndOf, type Owner, tempDir } from '../support/server-process.ts';

interface SmallDisk {
  /** Where it is, for whoever runs within. */
  dir: string;
  within: string[];
  env: { PARLEY_ADMIN_KEY: string };
  /** To the last byte. */
  fill(): void;
  /** Takes away what filled it. */
  free(): void;
  grow(): Promise<void>;
}

/** In a namespace of its own, so that it needs no rights, and is gone when the process that holds it is. */
const HOLDER = `
mount -t tmpfs -o size="$2" none "$1" && echo ready
read && mount -o remount,size=64m "$1" && echo grown
read`;

/** A disk of so many kilobytes. */
export const smallDisk = async (owner: Owner, kilobytes: number): Promise<SmallDisk> => {
  const dir = tempDir(owner);
  const args = ['--user', '--map-root-user', '--mount', 'bash', '-c', HOLDER, 'holder', dir, `${kilobytes}k`];
  const holder = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(holder, 'close');
  atEndOf(owner, () => {
    holder.stdin.end();
    return ended;
  });
  const says = async (word: string): Promise<void> => {
    const [text] = await Promise.race([once(holder.stdout, 'data'), ended.then(() => ['nothing'])]);
    assert.equal(String(text).trim(), word);
  };
  await says('ready');
  const within = ['nsenter', '-t', String(holder.pid), '--user', '--mount', '--preserve-credentials', '--'];
  return {
    dir,
    within,
    // What is in the folder is seen from within alone, the file with the key too.
    env: { PARLEY_ADMIN_KEY: 'the-admin-key-of-a-small-disk' },
    fill: () => {
      const [command = '', ...rest] = within;
      const { stderr } = spawnSync(command, [...rest, 'dd', 'if=/dev/zero', `of=${dir}/filler`, 'bs=512']);
      assert.match(String(stderr), /No space left/);
    },
    free: () => {
      const [command = '', ...rest] = within;
      spawnSync(command, [...rest, 'rm', '-f', `${dir}/filler`]);
    },
    grow: () => {
      holder.stdin.write('\n');
      return says('grown');
    },
  };
};
