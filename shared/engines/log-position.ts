import { ParleyError } from '../kernel/errors.ts';

/** A place in an event log, between two events: before the one with this index in the batch with this number. */
export interface LogPosition {
  seq: number;
  index: number;
}

export const OLDEST_POSITION: LogPosition = { seq: 0, index: 0 };

export const formatCursor = ({ seq, index }: LogPosition): string => `${seq}.${index}`;

export const parseCursor = (cursor: string): LogPosition => {
  const [, seq, index] = /^(\d{1,15})\.(\d{1,6})$/.exec(cursor) ?? [];
  if (seq !== undefined) return { seq: Number(seq), index: Number(index) };
  throw new ParleyError('invalid_request', 'The cursor is not one that the event log gave.');
};

/** A reader that waited behind the end of the log would miss what comes next. `end` is the number that the next batch has at the least. */
export const assertNotAheadOfLog = ({ seq, index }: LogPosition, end: number): void => {
  if (seq < end || (seq === end && index === 0)) return;
  throw new ParleyError(
    'invalid_request',
    'The cursor lies ahead of the event log, which never gave it. Begin without.',
  );
};

/** Whether a reader that goes forwards, or newest first backwards, would have passed the last place that it is to reach. */
export const isPastPosition = (position: LogPosition, until: LogPosition | undefined, newestFirst = false): boolean => {
  if (!until) return false;
  const ahead = position.seq - until.seq || position.index - until.index;
  return newestFirst ? ahead < 0 : ahead > 0;
};

/** A batch, and when it was published, in epoch milliseconds. */
export interface PublishedBatch {
  seq: number;
  at: number;
}

/**
 * The number of the first batch that was published at the time or later, or of the end of the log. Halves what lies in between, so that
 * a long log takes a few looks more than a short one.
 */
export const findFirstSeqAt = async (
  time: number,
  end: number,
  /** The first batch with this number or a later one. */
  firstFrom: (seq: number) => Promise<PublishedBatch | undefined>,
): Promise<number> => {
  let low = (await firstFrom(0))?.seq ?? end;
  let high = end;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = await firstFrom(middle);
    if (!found || found.seq >= high || found.at >= time) high = middle;
    else low = found.seq + 1;
  }
  return low;
};
