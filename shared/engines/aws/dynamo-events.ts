import { MAX_RESPONSE_BYTES } from '../../kernel/response-size.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { sleep } from '../../ports/clock.ts';
import {
  type EventPage,
  type EventReadOptions,
  type Events,
  isWantedEvent,
  type ParleyEvent,
} from '../../ports/events.ts';
import {
  assertNotAheadOfLog,
  findFirstSeqAt,
  formatCursor,
  isPastPosition,
  type LogPosition,
  OLDEST_POSITION,
  parseCursor,
} from '../log-position.ts';
import { splitIntoChunks } from './backoff.ts';
import { coalesce } from './coalesce.ts';
import {
  type EventLogOptions,
  eventBatchRef,
  eventLogEndRef,
  findBatchFrom,
  LOST_AFTER_MS,
  listBatches,
  listBatchesBackwards,
  SETTLED_MS,
  type StoredEventBatch,
  takeNextSeq,
} from './event-log-batches.ts';
import { fitEvent } from './fit-event.ts';

export type PublishExternally = (events: ParleyEvent[]) => Promise<void>;

export const createDynamoEvents = (log: EventLogOptions, announce: PublishExternally): Events => {
  const appenders = new Map<string, (events: ParleyEvent[]) => Promise<void>>();
  /** One append at a time per instance: what comes meanwhile shares the next. */
  const getAppender = (project: string) => {
    const appender = appenders.get(project) ?? coalesce(createAppender(log, project));
    appenders.set(project, appender);
    return appender;
  };
  return {
    publish: async (published) => {
      const events = published.map(fitEvent);
      const byProject = [...Map.groupBy(events, ({ project }) => project)];
      await Promise.all([...byProject.map(([project, own]) => getAppender(project)(own)), announce(events)]);
    },
    read: (project, options) => readPage(log, project, options),
    getEnd: (project) => getWrittenEnd(log, project),
    findPositionAt: (project, time) => findPositionAt(log, project, time),
    waitForMore: async (project, cursor, ms, signal) => {
      const until = log.clock.now() + ms;
      const { seq } = parseCursor(cursor);
      let takenSince: number | undefined;
      for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS)) {
        const now = log.clock.now();
        const state = await getBatchState(log, project, seq);
        if (state === 'taken') takenSince ??= now;
        // A read closes the place of a writer that is gone.
        const isLost = takenSince !== undefined && now - takenSince > LOST_AFTER_MS;
        if (state === 'written' || isLost || now >= until || signal?.aborted) return;
        await sleep(log.clock, Math.min(pauseMs, until - now), signal).done;
      }
    },
  };
};

const POLL_MS = 100;
const MAX_POLL_MS = 1000;
/** Who write at the same moment, one number each. */
const MAX_WRITERS = 20;

/** Zero: nothing was ever published. */
const getLogEnd = async (
  { records }: EventLogOptions,
  project: string,
): Promise<{ first: number; last: number; at: number }> => {
  const end = await records.get(eventLogEndRef(project));
  return { first: end?.first ?? 0, last: end?.seq ?? 0, at: end?.at ?? 0 };
};

/** Before the first number that a writer has taken and not yet written: whoever goes on from there misses nothing. */
const getWrittenEnd = async (log: EventLogOptions, project: string): Promise<string> => {
  const { first, last, at } = await getLogEnd(log, project);
  if (log.clock.now() - at > SETTLED_MS) return formatCursor({ seq: last + 1, index: 0 });
  let seq = Math.max(first, last - MAX_WRITERS + 1);
  for await (const batch of listBatches(log, project, seq, last)) seq = batch.seq + 1;
  return formatCursor({ seq, index: 0 });
};

/** `taken`: a writer has the number and did not write yet, or never will. */
const getBatchState = async (
  log: EventLogOptions,
  project: string,
  seq: number,
): Promise<'written' | 'taken' | 'free'> => {
  if ((await getLogEnd(log, project)).last < seq) return 'free';
  return (await log.records.get(eventBatchRef(project, seq))) ? 'written' : 'taken';
};

/** A DynamoDB item holds 400 KB; events compress to about a fifth. */
const MAX_BATCH_EVENTS = 250;
const MAX_BATCH_BYTES = 380 * 1024;
const getEventBytes = (event: ParleyEvent): number => Buffer.byteLength(JSON.stringify(event));
const APPEND_RETRIES = { attempts: 20 };

/** Each append has a number that no other writer gets. It conflicts only with a reader that took it for lost. */
const createAppender =
  (log: EventLogOptions, project: string) =>
  async (events: ParleyEvent[]): Promise<void> => {
    for (const batch of splitIntoChunks(events, MAX_BATCH_EVENTS, MAX_BATCH_BYTES, getEventBytes)) {
      await retryOnConflict(`the event log of ${project}`, APPEND_RETRIES, async () => {
        const seq = await takeNextSeq(log, project);
        const expires = log.clock.now() + log.retentionMs;
        const created = await log.records.create<StoredEventBatch>(
          { ...eventBatchRef(project, seq), batch, expires },
          log.newId(),
        );
        return created.outcome === 'written' ? created : undefined;
      });
    }
  };

const MAX_SCANNED = 1000;

const readPage = async (log: EventLogOptions, project: string, options: EventReadOptions): Promise<EventPage> => {
  const { limit, newestFirst = false } = options;
  const until = options.until === undefined ? undefined : parseCursor(options.until);
  const { first, last } = await getLogEnd(log, project);
  const start = newestFirst ? { seq: last + 1, index: 0 } : OLDEST_POSITION;
  let position = options.after === undefined ? start : parseCursor(options.after);
  if (!newestFirst) assertNotAheadOfLog(position, (last || log.clock.now()) + 1);
  const events: ParleyEvent[] = [];
  let [looked, bytes] = [0, 0];
  const batches = newestFirst
    ? listBatchesBackwards(log, project, Math.min(last, position.index === 0 ? position.seq - 1 : position.seq), first)
    : listBatches(log, project, Math.max(first, position.seq), last);
  for await (const { seq, batch } of batches) {
    for (const { event, next } of listEventsFrom(seq, batch, position, newestFirst)) {
      if (isPastPosition(next, until, newestFirst)) return { events, cursor: formatCursor(position) };
      if (isWantedEvent(options, event)) events.push(event);
      position = next;
      looked += 1;
      bytes += JSON.stringify(event.data).length;
      if (events.length === limit || looked === MAX_SCANNED || bytes > MAX_RESPONSE_BYTES)
        return { events, cursor: formatCursor(position) };
    }
    if (batch.length > 0 || newestFirst) continue;
    // Nobody wrote under this number.
    const next = { seq: seq + 1, index: 0 };
    if (isPastPosition(next, until)) return { events, cursor: formatCursor(position) };
    position = next;
  }
  return { events, cursor: formatCursor(position) };
};
/** Clocks differ, so batch times may deviate from their order. */
const CLOCK_SKEW_MS = 5000;

const findPositionAt = async (log: EventLogOptions, project: string, time: number): Promise<string> => {
  const findFirstBatchFrom = async (seq: number) => {
    const found = await findBatchFrom(log, project, seq);
    return found && { seq: Number(found.sk), at: found.at };
  };
  const end = (await getLogEnd(log, project)).last + 1;
  return formatCursor({ seq: await findFirstSeqAt(time - CLOCK_SKEW_MS, end, findFirstBatchFrom), index: 0 });
};

const listEventsFrom = (seq: number, batch: ParleyEvent[], from: LogPosition, newestFirst: boolean) => {
  const isHere = seq === from.seq;
  const numbered = batch.map((event, index) => ({ event, index }));
  if (newestFirst) {
    return numbered
      .filter(({ index }) => seq < from.seq || (isHere && index < from.index))
      .toReversed()
      .map(({ event, index }) => ({ event, next: { seq, index } }));
  }
  return numbered
    .filter(({ index }) => seq > from.seq || (isHere && index >= from.index))
    .map(({ event, index }) => ({
      event,
      next: index + 1 < batch.length ? { seq, index: index + 1 } : { seq: seq + 1, index: 0 },
    }));
};
