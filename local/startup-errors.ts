import { ConfigError } from '../shared/config/config.ts';
import { StorageDamageError } from '../shared/engines/embedded/inspect-storage.ts';
import { isNoSpaceError } from '../shared/engines/embedded/no-space-error.ts';
import { StorageFormatError } from '../shared/engines/embedded/sql-schema.ts';
import { StartError } from './cli-options.ts';

export const formatStartupError = (error: unknown, { dir, port }: { dir: string; port: number }): string => {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  const { code, syscall, errcode, message } = getErrorFacts(error);
  if (code === 'EADDRINUSE') return `Port ${port} is in use. Stop what uses it, or choose another with --port.`;
  if (code === 'EACCES' && syscall === 'listen')
    return `Port ${port} needs more rights. Choose one from 1024 on with --port.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `The address given with --host is not one of this machine's.`;
  if (error instanceof StorageDamageError) return `The storage in ${dir} is damaged: ${message}. ${DAMAGE_REMEDY}`;
  if (isNoSpaceError(error))
    return `The disk with ${dir} is full. Free some space and start again; nothing acknowledged is lost.`;
  if (errcode === SQLITE.busy) return `Another Parley is using ${dir}. Stop it, or choose another folder with --data.`;
  if (errcode === SQLITE.notADatabase || errcode === SQLITE.corrupt) {
    return `The database in ${dir} is damaged. ${DAMAGE_REMEDY}`;
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') return `${dir} is not a folder. Choose another with --data.`;
  if (
    ['EACCES', 'EPERM', 'EROFS', 'ENOENT'].includes(code) ||
    errcode === SQLITE.readOnly ||
    errcode === SQLITE.cannotOpen
  ) {
    return `${dir} cannot be written to. Make it writable, or choose another folder with --data.`;
  }
  if (error instanceof StorageFormatError) {
    const remedy = error.writtenBy === 'a newer' ? 'Update Parley' : 'Go on with that version';
    return `The database in ${dir} ${message}. ${remedy}, or choose another folder with --data.`;
  }
  return `The storage in ${dir} failed: ${message}. Mend it and start again; nothing acknowledged is lost.`;
};

/** SQLite's primary result codes. */
const SQLITE = { busy: 5, readOnly: 8, corrupt: 11, cannotOpen: 14, notADatabase: 26 };

const DAMAGE_REMEDY =
  'Restore the folder from a backup, start with --accept-damage to go on with what can be read, or choose another with --data.';

interface ErrorFacts {
  code: string;
  syscall?: unknown;
  errcode?: number;
  message: string;
}

const getErrorFacts = (error: unknown): ErrorFacts => {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  // The lowest byte of an extended result code is the primary one.
  const extended = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined;
  const syscall = 'syscall' in error ? error.syscall : undefined;
  return { code, syscall, errcode: extended && extended & 0xff, message: error.message };
};
