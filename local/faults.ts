import { ConfigError } from '../shared/config.ts';
import { OtherFormat } from '../shared/engines/embedded/sqlite-file.ts';
import { StartError } from './options.ts';

/** A failure while starting or running, as one line that says what to do. */
export const faultLine = (error: unknown, { dir, port }: { dir: string; port: number }): string => {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  const { code, syscall, errcode, extended, message } = factsOf(error);
  if (code === 'EADDRINUSE') return `Port ${port} is in use. Stop what uses it, or choose another with --port.`;
  if (code === 'EACCES' && syscall === 'listen')
    return `Port ${port} needs more rights. Choose one from 1024 on with --port.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `The address given with --host is not one of this machine's.`;
  if (code === 'ENOSPC' || errcode === SQLITE.full || extended === NO_ROOM_TO_SHARE)
    return `The disk with ${dir} is full. Free some space and start again; nothing acknowledged is lost.`;
  if (errcode === SQLITE.busy) return `Another Parley is using ${dir}. Stop it, or choose another folder with --data.`;
  if (errcode === SQLITE.notADatabase || errcode === SQLITE.corrupt) {
    return `The database in ${dir} is damaged. Restore the folder from a backup, or choose another with --data.`;
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') return `${dir} is not a folder. Choose another with --data.`;
  if (
    ['EACCES', 'EPERM', 'EROFS', 'ENOENT'].includes(code) ||
    errcode === SQLITE.readOnly ||
    errcode === SQLITE.cannotOpen
  ) {
    return `${dir} cannot be written to. Make it writable, or choose another folder with --data.`;
  }
  if (error instanceof OtherFormat) {
    const remedy = error.by === 'a newer' ? 'Update Parley' : 'Go on with that version';
    return `The database in ${dir} ${message}. ${remedy}, or choose another folder with --data.`;
  }
  return `The storage in ${dir} failed: ${message}. Mend it and start again; nothing acknowledged is lost.`;
};

/** The primary result codes of SQLite that a person can do something about. */
const SQLITE = { busy: 5, readOnly: 8, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 };

/** The extended code where the file has no room that SQLite makes beside a log which it finds (SQLITE_IOERR_SHMSIZE). */
const NO_ROOM_TO_SHARE = 4874;

interface Facts {
  code: string;
  syscall?: unknown;
  errcode?: number;
  extended?: number;
  message: string;
}

const factsOf = (error: unknown): Facts => {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // The lowest byte of an extended result code is the primary one.
  const extended = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;
  const syscall = 'syscall' in error ? error.syscall : undefined;
  return { code, syscall, errcode: extended && extended & 0xff, extended, message: error.message };
};
