import { mapConcurrent } from '../../kernel/concurrency.ts';
import type { Clock } from '../../ports/clock.ts';
import { lessThan, notExists, or } from '../../ports/conditions.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';

export interface EventLogOptions {
  records: Records;
  clock: Clock;
  newId: () => string;
  retentionMs: number;
}

export interface StoredEventBatch extends Item {
  batch: ParleyEvent[];
}

/** Writers take their numbers from it. */
export interface EventLogEnd extends Item {
  /** The last number taken. */
  seq: number;
  /** The first one that was ever taken. */
  first: number;
}

export interface NumberedBatch {
  seq: number;
  batch: ParleyEvent[];
}

/** A partition of the table takes 1,000 units a second: neighbours in the log lie in different ones. */
const STRIPES = 8;
const WINDOW = 20;

const formatSeq = (seq: number): string => String(seq).padStart(16, '0');
const formatStripe = (project: string, stripe: number): string => `${project}#events#${stripe}`;
export const eventBatchRef = (project: string, seq: number): Ref<StoredEventBatch> => ({
  pk: formatStripe(project, seq % STRIPES),
  sk: formatSeq(seq),
});
export const eventLogEndRef = (project: string): Ref<EventLogEnd> => ({ pk: `${project}#events`, sk: 'end' });

/** A new log starts at the current time, so no old cursor lies ahead of it. */
export const takeNextSeq = async ({ records, clock, newId }: EventLogOptions, project: string): Promise<number> => {
  for (;;) {
    const taken = await records.update(eventLogEndRef(project), { add: { seq: 1 } }, newId());
    if (taken.outcome === 'written') return taken.after.seq;
    const now = clock.now();
    await records.create<EventLogEnd>({ ...eventLogEndRef(project), seq: now, first: now + 1 }, newId());
  }
};

/** A batch that comes later than this after its successor has lost its number. */
export const LOST_AFTER_MS = 1000;
/** No function lives longer, so that nobody waits for the answer to a write from before. */
export const SETTLED_MS = 15 * 60_000;
/** More than there are writers at once. */
const MAX_LOST = 256;
const CLOSE_CONCURRENCY = 16;

/** In their order, to before the first that a writer has taken and not yet written. */
export async function* listBatches(
  log: EventLogOptions,
  project: string,
  from: number,
  last: number,
): AsyncGenerator<NumberedBatch> {
  for (let seq = from; seq <= last; ) {
    const end = Math.min(last, seq + WINDOW - 1);
    const found = await getBatches(log, project, seq, end);
    while (seq <= end) {
      const stored = found.get(seq);
      if (stored) {
        yield { seq, batch: stored.batch };
        seq += 1;
        continue;
      }
      const later = findFirst(found, seq) ?? (await findBatchFrom(log, project, end + 1));
      const age = later ? log.clock.now() - later.at : 0;
      if (!later || age <= LOST_AFTER_MS) return;
      const next = Number(later.sk);
      if (age < SETTLED_MS) yield* closeBatches(log, project, Math.max(seq, next - MAX_LOST), next);
      seq = next;
    }
  }
}

/** The newest first. A writer whose batch is missing takes another number, ahead of all that the reader has seen. */
export async function* listBatchesBackwards(
  log: EventLogOptions,
  project: string,
  from: number,
  first: number,
): AsyncGenerator<NumberedBatch> {
  let later: StoredEventBatch | undefined;
  for (let seq = from; seq >= first; ) {
    const start = Math.max(first, seq - WINDOW + 1);
    const found = await getBatches(log, project, start, seq);
    if (found.size === 0) {
      const older = await findLastBatchUntil(log, project, start - 1);
      if (!older) return;
      seq = Number(older.sk);
      continue;
    }
    for (; seq >= start; seq--) {
      const stored = found.get(seq);
      const isOpen = !stored && later && log.clock.now() - later.at < SETTLED_MS;
      if (isOpen) yield* closeBatches(log, project, seq, seq + 1);
      if (stored) yield { seq, batch: stored.batch };
      later = stored ?? later;
    }
  }
}

const getBatches = async (
  { records }: EventLogOptions,
  project: string,
  from: number,
  to: number,
): Promise<Map<number, StoredEventBatch>> => {
  const refs = Array.from({ length: to - from + 1 }, (_, index) => eventBatchRef(project, from + index));
  return new Map((await records.getMany(refs)).map((stored) => [Number(stored.sk), stored]));
};

const findFirst = (found: Map<number, StoredEventBatch>, from: number): StoredEventBatch | undefined =>
  [...found.values()].filter(({ sk }) => Number(sk) > from).toSorted(compareSeq)[0];

const compareSeq = (a: Item, b: Item): number => Number(a.sk) - Number(b.sk);

/** The writer of a closed number finds it taken. If it was faster, its batch is the answer. */
async function* closeBatches(
  { records, clock, newId, retentionMs }: EventLogOptions,
  project: string,
  from: number,
  to: number,
): AsyncGenerator<NumberedBatch> {
  const lost = Array.from({ length: to - from }, (_, index) => from + index);
  yield* await mapConcurrent(lost, CLOSE_CONCURRENCY, async (seq) => {
    // One that has expired may not be deleted yet.
    const isFree = or(notExists('batch'), lessThan('expires', clock.now()));
    const close = { if: isFree, set: { batch: [], expires: clock.now() + retentionMs } };
    const closed = await records.update(eventBatchRef(project, seq), close, newId(), 'orCreate');
    return { seq, batch: (closed.outcome === 'written' ? closed.after : closed.existing)?.batch ?? [] };
  });
}

export const findBatchFrom = async (
  log: EventLogOptions,
  project: string,
  seq: number,
): Promise<StoredEventBatch | undefined> =>
  (await queryStripes(log, project, { after: formatSeq(Math.max(0, seq - 1)) })).toSorted(compareSeq)[0];

const findLastBatchUntil = async (
  log: EventLogOptions,
  project: string,
  seq: number,
): Promise<StoredEventBatch | undefined> =>
  (await queryStripes(log, project, { after: formatSeq(seq + 1), newestFirst: true })).toSorted(compareSeq).at(-1);

/** One of each. */
const queryStripes = async (
  { records }: EventLogOptions,
  project: string,
  range: { after: string; newestFirst?: boolean },
): Promise<StoredEventBatch[]> => {
  const found = Array.from({ length: STRIPES }, (_, stripe) =>
    records.query<StoredEventBatch>({ pk: formatStripe(project, stripe), limit: 1, ...range }),
  );
  return (await Promise.all(found)).flat();
};
