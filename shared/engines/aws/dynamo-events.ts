import { MAX_RESPONSE_BYTES } from '../../kernel/response-size.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import {
  type EventPage,
  type EventReadOptions,
  type Events,
  isWantedEvent,
  type ParleyEvent,
} from '../../ports/events.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
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

export type PublishExternally = (events: ParleyEvent[]) => Promise<void>;

interface EventLogOptions {
  records: Records;
  clock: Clock;
  newId: () => string;
  retentionMs: number;
}

interface StoredEventBatch extends Item {
  batch: ParleyEvent[];
}

export const createDynamoEvents = (log: EventLogOptions, announce: PublishExternally): Events => {
  const appenders = new Map<string, (events: ParleyEvent[]) => Promise<void>>();
  /** One append at a time per instance: concurrent appends to one log conflict. */
  const getAppender = (project: string) => {
    const appender = appenders.get(project) ?? coalesce(createAppender(log, project));
    appenders.set(project, appender);
    return appender;
  };
  return {
    publish: async (events) => {
      const byProject = [...Map.groupBy(events, ({ project }) => project)];
      await Promise.all([...byProject.map(([project, own]) => getAppender(project)(own)), announce(events)]);
    },
    read: (project, options) => readPage(log, project, options),
    getEnd: async (project) => formatCursor({ seq: (await getLastSeq(log, project)) + 1, index: 0 }),
    findPositionAt: (project, time) => findPositionAt(log, project, time),
    waitForMore: async (project, cursor, ms, signal) => {
      const until = log.clock.now() + ms;
      for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS)) {
        const left = until - log.clock.now();
        if (left <= 0 || signal?.aborted || (await getLastSeq(log, project)) >= parseCursor(cursor).seq) return;
        await sleep(log.clock, Math.min(pauseMs, left), signal).done;
      }
    },
  };
};

const POLL_MS = 100;
const MAX_POLL_MS = 1000;

const logPk = (project: string): string => `${project}#events`;
const formatSeq = (seq: number): string => String(seq).padStart(16, '0');
const eventBatchRef = (project: string, seq: number): Ref<StoredEventBatch> => ({
  pk: logPk(project),
  sk: formatSeq(seq),
});

const getLastSeq = async (log: EventLogOptions, project: string): Promise<number> => {
  const [last] = await log.records.query<StoredEventBatch>({ pk: logPk(project), newestFirst: true, limit: 1 });
  return last ? Number(last.sk) : ((await log.records.get(logStartRef(project)))?.seq ?? 0);
};

/** A new log starts at the current time, so no old cursor lies ahead of it. */
interface EventLogStart extends Item {
  seq: number;
}

const logStartRef = (project: string): Ref<EventLogStart> => ({ pk: `${project}#events-start`, sk: 'start' });
const HOUR_MS = 3_600_000;

const createLogStart = async (log: EventLogOptions, project: string): Promise<number> => {
  const now = log.clock.now();
  const start = { ...logStartRef(project), seq: now, expires: now + log.retentionMs - HOUR_MS };
  const made = await log.records.create<EventLogStart>(start, log.newId());
  if (made.outcome === 'written') return made.after.seq;
  return made.existing?.seq ?? now;
};

/** A DynamoDB item holds 400 KB; events compress to about a fifth. */
const MAX_BATCH_EVENTS = 250;
const MAX_BATCH_BYTES = 380 * 1024;
const getEventBytes = (event: ParleyEvent): number => Buffer.byteLength(JSON.stringify(event));
const APPEND_RETRIES = { attempts: 50, pauseMs: 5, maxPauseMs: 100 };

/** On a conflict it tries the next number, so no event appears behind a reader's cursor. */
const createAppender = (log: EventLogOptions, project: string): ((events: ParleyEvent[]) => Promise<void>) => {
  let known: number | undefined;
  const appendBatch = async (batch: ParleyEvent[]): Promise<void> => {
    let attempts = 0;
    await retryOnConflict(`the event log of ${project}`, APPEND_RETRIES, async () => {
      const last = known ?? ((await getLastSeq(log, project)) || (await createLogStart(log, project)));
      const expires = log.clock.now() + log.retentionMs;
      const created = await log.records.create<StoredEventBatch>(
        { ...eventBatchRef(project, last + 1), batch, expires },
        log.newId(),
      );
      known = last + 1;
      if (created.outcome === 'written') return created;
      attempts += 1;
      // Others may be far ahead.
      if (attempts % 3 === 0) known = undefined;
      return undefined;
    });
  };
  return async (events) => {
    for (const batch of splitIntoChunks(events, MAX_BATCH_EVENTS, MAX_BATCH_BYTES, getEventBytes))
      await appendBatch(batch);
  };
};

const MAX_SCANNED = 1000;
const BATCHES_PER_QUERY = 20;

const readPage = async (log: EventLogOptions, project: string, options: EventReadOptions): Promise<EventPage> => {
  const { limit, newestFirst = false } = options;
  const until = options.until === undefined ? undefined : parseCursor(options.until);
  const events: ParleyEvent[] = [];
  let position =
    options.after === undefined ? START_POSITIONS[newestFirst ? 'newest' : 'oldest'] : parseCursor(options.after);
  let [looked, bytes] = [0, 0];
  for (;;) {
    const after = newestFirst ? formatSeq(position.seq + 1) : formatSeq(Math.max(0, position.seq - 1));
    const batches = await log.records.query<StoredEventBatch>({
      pk: logPk(project),
      after,
      newestFirst,
      limit: BATCHES_PER_QUERY,
    });
    for (const { sk, batch } of batches) {
      const seq = Number(sk);
      for (const { event, next } of listEventsFrom(seq, batch, position, newestFirst)) {
        if (isPastPosition(next, until, newestFirst)) return { events, cursor: formatCursor(position) };
        if (isWantedEvent(options, event)) events.push(event);
        position = next;
        looked += 1;
        bytes += JSON.stringify(event.data).length;
        if (events.length === limit || looked === MAX_SCANNED || bytes > MAX_RESPONSE_BYTES)
          return { events, cursor: formatCursor(position) };
      }
    }
    if (looked === 0 && !newestFirst)
      assertNotAheadOfLog(position, ((await getLastSeq(log, project)) || log.clock.now()) + 1);
    if (batches.length < BATCHES_PER_QUERY) return { events, cursor: formatCursor(position) };
  }
};

/** Clocks differ, so batch times may deviate from their order. */
const CLOCK_SKEW_MS = 5000;

const findPositionAt = async (log: EventLogOptions, project: string, time: number): Promise<string> => {
  const findFirstBatchFrom = async (seq: number) => {
    const after = formatSeq(Math.max(0, seq - 1));
    const batches = await log.records.query<StoredEventBatch>({ pk: logPk(project), after, limit: 1 });
    return batches[0] && { seq: Number(batches[0].sk), at: batches[0].at };
  };
  const end = (await getLastSeq(log, project)) + 1;
  return formatCursor({ seq: await findFirstSeqAt(time - CLOCK_SKEW_MS, end, findFirstBatchFrom), index: 0 });
};

const START_POSITIONS = { oldest: OLDEST_POSITION, newest: { seq: 10 ** 15 - 1, index: 0 } };

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
