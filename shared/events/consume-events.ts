import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { retryOnConflict } from '../kernel/retry-on-conflict.ts';
import { equals, notExists } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import {
  type Consumer,
  type ConsumerConfig,
  consumerRef,
  formatReceipt,
  getConsumerConfig,
  type InFlightRange,
  RECEIPT,
} from './consumer.ts';

interface TakeOptions {
  max: number;
  leaseMs: number;
  waitMs: number;
  signal?: AbortSignal;
}

interface TakenEvents {
  events: ParleyEvent[];
  receipt?: string;
  until?: number;
}

/** Bounds the size of the consumer's record. */
const MAX_IN_FLIGHT_RANGES = 64;
export const MAX_EVENTS = 500;
/** Of concurrent instances one wins; the others retry. */
const CONSUMER_RETRIES = { attempts: 20 };
const FULL_RECHECK_MS = 1000;
/** 20 reads of 1,000 events; the next call continues. */
const MAX_READS = 20;

/** Exclusive to this instance until its lease ends. Waits if there are none. */
export const takeEvents = async (
  deps: Deps,
  caller: Caller,
  name: string,
  wanted: TakeOptions,
): Promise<TakenEvents> => {
  const declared = getConsumerConfig(deps, caller, name);
  const giveUp = deps.clock.now() + wanted.waitMs;
  for (let looks = 1; ; looks++) {
    const taken = await updateConsumer(deps, declared.project, name, (seen) => readNext(deps, declared, seen, wanted));
    if ('events' in taken) return taken;
    if (taken.hasMore && looks < MAX_READS) continue;
    const now = deps.clock.now();
    if (now >= giveUp || wanted.signal?.aborted) return { events: [] };
    const leftMs = Math.min(giveUp, taken.nextCheckAt) - now;
    await deps.events.waitForMore(declared.project, taken.end, leftMs, wanted.signal);
  }
};

interface NoEvents {
  end: string;
  nextCheckAt: number;
  /** None matched so far, but there is more to read. */
  hasMore?: true;
}

type ConsumerState = Pick<Consumer, 'generation' | 'next' | 'inFlight' | 'lastRangeId'>;

interface ConsumerDecision<T> {
  change?: ConsumerState;
  answer: T;
}

const NEW_CONSUMER: ConsumerState = { generation: 1, inFlight: [], lastRangeId: 0 };

/** Lapsed ranges come before new ones. */
const readNext = async (
  deps: Deps,
  declared: ConsumerConfig,
  seen: ConsumerState = NEW_CONSUMER,
  wanted: TakeOptions,
): Promise<ConsumerDecision<TakenEvents | NoEvents>> => {
  const now = deps.clock.now();
  const lapsed = seen.inFlight.find(({ until }) => until <= now);
  return lapsed ? redeliver(deps, declared, seen, lapsed, wanted) : readNew(deps, declared, seen, wanted);
};

const redeliver = async (
  { events, clock }: Deps,
  { project, types, channels }: ConsumerConfig,
  seen: ConsumerState,
  lapsed: InFlightRange,
  { leaseMs }: TakeOptions,
): Promise<ConsumerDecision<TakenEvents | NoEvents>> => {
  const page = await events.read(project, { after: lapsed.from, until: lapsed.to, types, limit: MAX_EVENTS });
  const others = seen.inFlight.filter(({ id }) => id !== lapsed.id);
  const state = { ...seen, inFlight: others };
  // If none is left, the events have expired from the log.
  const allowed = page.events.filter(isOnChannels(channels));
  if (allowed.length === 0) return { change: state, answer: { end: lapsed.to, nextCheckAt: 0, hasMore: true } };
  const span = { ...lapsed, lease: lapsed.lease + 1, until: clock.now() + leaseMs };
  return { change: { ...state, inFlight: [...others, span] }, answer: toTakenEvents(seen, span, allowed) };
};

const readNew = async (
  { events, clock }: Deps,
  { project, types, channels }: ConsumerConfig,
  seen: ConsumerState,
  { max, leaseMs }: TakeOptions,
): Promise<ConsumerDecision<TakenEvents | NoEvents>> => {
  const nextCheckAt = Math.min(...seen.inFlight.map(({ until }) => until));
  if (seen.inFlight.length >= MAX_IN_FLIGHT_RANGES) {
    // An acknowledgement frees a range without a wake-up, so the wait is short.
    return {
      answer: { end: await events.getEnd(project), nextCheckAt: Math.min(nextCheckAt, clock.now() + FULL_RECHECK_MS) },
    };
  }
  const page = await events.read(project, { after: seen.next, types, limit: max });
  const allowed = page.events.filter(isOnChannels(channels));
  if (allowed.length === 0) {
    const answer = { end: page.cursor, nextCheckAt };
    return page.cursor === seen.next
      ? { answer }
      : { change: { ...seen, next: page.cursor }, answer: { ...answer, hasMore: true } };
  }
  const id = seen.lastRangeId + 1;
  const span = { id, lease: 1, from: seen.next, to: page.cursor, until: clock.now() + leaseMs };
  const change = { ...seen, next: page.cursor, inFlight: [...seen.inFlight, span], lastRangeId: id };
  return { change, answer: toTakenEvents(seen, span, allowed) };
};

const isOnChannels =
  (channels: string[]) =>
  ({ data }: ParleyEvent): boolean =>
    typeof data.channel !== 'string' || channels.includes(data.channel);

/** The log may contain an event twice, usually in sequence. */
const toTakenEvents = (state: ConsumerState, span: InFlightRange, events: ParleyEvent[]): TakenEvents => ({
  events: [...new Map(events.map((event) => [event.id, event])).values()],
  receipt: formatReceipt(state, span),
  until: span.until,
});

/** Idempotent. */
export const acknowledgeEvents = async (
  deps: Deps,
  caller: Caller,
  name: string,
  receipt: string,
): Promise<{ duplicate: boolean }> => {
  const { project } = getConsumerConfig(deps, caller, name);
  const [generation, id, lease] = (RECEIPT.exec(receipt) ?? []).slice(1).map(Number);
  return updateConsumer<{ duplicate: boolean }>(deps, project, name, (seen = NEW_CONSUMER) => {
    const span = seen.inFlight.find((one) => one.id === id);
    const isKnown = generation === seen.generation && id !== undefined && id <= seen.lastRangeId;
    if (!isKnown || (span && span.lease !== lease)) throw staleReceiptError(name);
    if (!span) return { answer: { duplicate: true } };
    const spans = seen.inFlight.filter((one) => one !== span);
    return { change: { ...seen, inFlight: spans }, answer: { duplicate: false } };
  });
};

const staleReceiptError = (name: string): ParleyError =>
  new ParleyError(
    'stale_receipt',
    `The receipt is not one that the consumer ${name} gave, or its time was over and the events went to another instance, or the consumer was rewound.`,
  );

type SeekTarget = 'start' | 'end' | Date;

/** Ranges taken before can no longer be acknowledged. */
export const seekConsumer = async (deps: Deps, caller: Caller, name: string, to: SeekTarget): Promise<void> => {
  const { project } = getConsumerConfig(deps, caller, name);
  const next = await resolveSeekTarget(deps, project, to);
  await updateConsumer(deps, project, name, (seen = NEW_CONSUMER) => ({
    change: { ...seen, generation: seen.generation + 1, next, inFlight: [] },
    answer: undefined,
  }));
};

const resolveSeekTarget = async ({ events }: Deps, project: string, to: SeekTarget): Promise<string | undefined> => {
  if (to === 'start') return undefined;
  return to === 'end' ? events.getEnd(project) : events.findPositionAt(project, to.getTime());
};

/** Optimistic: reads again if another write came first. */
const updateConsumer = async <T>(
  { records, newId }: Deps,
  project: string,
  name: string,
  decide: (seen: ConsumerState | undefined) => ConsumerDecision<T> | Promise<ConsumerDecision<T>>,
): Promise<T> => {
  const ref = consumerRef(project, name);
  const { answer: agreed } = await retryOnConflict(`the consumer ${name}`, CONSUMER_RETRIES, async () => {
    const seen = await records.get(ref);
    const { change, answer } = await decide(seen);
    if (!change) return { answer };
    const { generation, next, inFlight, lastRangeId } = change;
    const written = await records.update(
      ref,
      {
        if: seen ? equals('v', seen.v) : notExists('v'),
        set: { generation, next, inFlight, lastRangeId },
        unset: next === undefined ? ['next'] : [],
      },
      newId(),
      'orCreate',
    );
    return written.outcome === 'written' ? { answer } : undefined;
  });
  return agreed;
};
