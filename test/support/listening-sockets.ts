import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTENING = '0A';

/** The addresses, as the kernel writes them, on which the process listens for TCP. */
export const listeningOf = (pid: number | string): string[] => {
  const fds = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  const inodes = new Set(fds.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode = '']) => state === LISTENING && inodes.has(inode))
      .map(([, address = '']) => address.split(':')[0] ?? ''),
  );
};

/** 127.0.0.1, and the same as an address of version 6, in the order of the machine's bytes. */
export const LOOPBACK = ['0100007F', '0000000000000000FFFF00000100007F'];
