const SQLITE_FULL = 13;
/** SQLite found no space for the WAL's shared-memory file. */
const SQLITE_IOERR_SHMSIZE = 4874;

/** Also true if the user's quota is exhausted. */
export const isNoSpaceError = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true;
  return 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_FULL
    ? true
    : 'errcode' in error && error.errcode === SQLITE_IOERR_SHMSIZE;
};
