import { closeSync, existsSync, openSync, readSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { isNoSpaceError } from './no-space-error.ts';
import { FIRST_FORMAT, STORAGE_FORMAT, StorageFormatError } from './sql-schema.ts';

export interface Committed {
  format: number;
  store: number;
  part: number;
  checksum: number;
  pages: number;
  pageBytes: number;
}

export type DatabaseState =
  | { state: 'missing' | 'empty' | 'without tables' | 'of another folder' }
  | { state: 'unreadable'; why: string }
  | { state: 'of another store' | 'readable'; committed: Committed };

const SQLITE_MAGIC = 'SQLite format 3\u0000';
const HEAD_BYTES = 100;
/** Offset of `PRAGMA application_id` in the SQLite header. */
const STORE_AT = 68;
/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED = [11, 26];

export const readDatabase = (path: string): DatabaseState => {
  if (!existsSync(path)) return { state: 'missing' };
  const head = readHead(path);
  if (head.length === 0) return { state: 'empty' };
  if (!isDatabase(head)) return { state: 'unreadable', why: 'file is not a database' };
  try {
    const committed = readCommitted(path);
    if (!committed) return { state: 'without tables' };
    return { state: head.readInt32BE(STORE_AT) === committed.store ? 'readable' : 'of another store', committed };
  } catch (error) {
    if (isDamaged(error)) return { state: 'unreadable', why: error.message };
    throw error;
  }
};

/** `immutable=1` ignores the WAL. */
export const withoutWal = (path: string): string => `${pathToFileURL(path).href}?immutable=1`;

export const readAlone = (path: string): Committed | undefined => {
  try {
    return readRow(new DatabaseSync(withoutWal(path), { readOnly: true }));
  } catch (error) {
    if (error instanceof Error && 'errcode' in error) return undefined;
    throw error;
  }
};

export const storeInHead = (path: string): number | undefined => {
  const head = existsSync(path) ? readHead(path) : Buffer.alloc(0);
  return isDatabase(head) ? head.readInt32BE(STORE_AT) : undefined;
};

export const isDamaged = (error: unknown): error is Error =>
  error instanceof Error && 'errcode' in error && DAMAGED.includes(Number(error.errcode) & 0xff);

const isDatabase = (head: Buffer): boolean =>
  head.length === HEAD_BYTES && head.toString('latin1', 0, SQLITE_MAGIC.length) === SQLITE_MAGIC;

const readHead = (path: string): Buffer => {
  const descriptor = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.subarray(0, readSync(descriptor, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
};

/** A writable connection could checkpoint a damaged or foreign WAL on close. */
const readCommitted = (path: string): Committed | undefined => {
  const hasWal = existsSync(`${path}-wal`);
  try {
    const committed = readRow(new DatabaseSync(path, { readOnly: true }));
    for (const made of hasWal ? ['-shm'] : ['-shm', '-wal']) rmSync(`${path}${made}`, { force: true });
    return committed;
  } catch (error) {
    if (!isNoSpaceError(error)) throw error;
    // A WAL reader needs a 32 KB file, which a full disk refuses; exclusive access does without.
    const sql = new DatabaseSync(path);
    sql.exec('PRAGMA locking_mode = EXCLUSIVE');
    return readRow(sql);
  }
};

const readRow = (sql: DatabaseSync): Committed | undefined => {
  try {
    const read = (text: string): number => Number(Object.values(sql.prepare(text).get() ?? {})[0]);
    const format = read('PRAGMA user_version');
    if (format !== 0 && (format < FIRST_FORMAT || format > STORAGE_FORMAT)) throw new StorageFormatError(format);
    if (format === 0 && read('SELECT count(*) FROM sqlite_schema') === 0) return undefined;
    const { part, checksum, store } = sql.prepare('SELECT part, checksum, store FROM journal').get() ?? {};
    return {
      format,
      part: Number(part),
      checksum: Number(checksum),
      store: Number(store),
      pages: read('PRAGMA page_count'),
      pageBytes: read('PRAGMA page_size'),
    };
  } finally {
    sql.close();
  }
};
