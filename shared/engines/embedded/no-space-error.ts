/** SQLITE_FULL. */
const SQLITE_FULL = 13;
/** SQLITE_IOERR_SHMSIZE: no room for the file that SQLite makes beside a WAL. */
const SQLITE_IOERR_SHMSIZE = 4874;

/** Whether a write failed because the disk, or the quota of its user, is full. */
export const isNoSpaceError = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true;
  return 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_FULL
    ? true
    : 'errcode' in error && error.errcode === SQLITE_IOERR_SHMSIZE;
};
