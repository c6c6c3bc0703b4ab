import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isNewEnough } from '../server-program.ts';
import { bad, type Check, ok, warn } from './check.ts';

const LOW_MB = 1000;
const TOO_LOW_MB = 100;
const DATA = '.parley';

/** Of the machine and the folder where `parley up` would start. */
export const checkMachine = (): Check[] => [checkNode(), checkDisk(), ...checkFolder()];

const checkNode = (): Check => {
  const { node } = process.versions;
  return isNewEnough()
    ? ok('Node.js', node)
    : bad('Node.js', `${node} cannot run the server`, 'install Node.js 22.13 or newer');
};

const checkDisk = (): Check => {
  const { bavail, bsize } = statfsSync('.');
  const freeMb = Math.floor((bavail * bsize) / 2 ** 20);
  const says = `${freeMb} MB free`;
  if (freeMb < TOO_LOW_MB) return bad('disk', says, 'free some: below 100 MB writes may be refused');
  return freeMb < LOW_MB
    ? warn('disk', says, 'free some, or lower the retention of tasks and events')
    : ok('disk', says);
};

const checkFolder = (): Check[] => {
  const folder = existsSync(DATA) ? DATA : '.';
  const path = join(process.cwd(), folder);
  try {
    accessSync(folder, constants.R_OK | constants.W_OK);
  } catch {
    return [bad('folder', `${path} cannot be read and written`, 'start it as the owner of the folder')];
  }
  const key = join(DATA, 'admin-key');
  if (!existsSync(key)) return [ok('folder', `${path} can be written to`)];
  const isOpen = (statSync(key).mode & 0o077) !== 0;
  return [
    ok('folder', `${path} has the state of a server`),
    isOpen
      ? bad('key file', `others on this machine can read ${key}`, `chmod 600 ${key}, and make a new key`)
      : ok('key file', `only its owner can read ${key}`),
  ];
};
