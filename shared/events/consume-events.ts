import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
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

export interface TakeOptions {
  max: number;
  /** For how long what is given out belongs to whoever took it. */
  leaseMs: number;
  waitMs: number;
  signal?: AbortSignal;
}

export interface TakenEvents {
  events: ParleyEvent[];
  /** Acknowledges them; absent where there are none. */
  receipt?: string;
  until?: number;
}

/** So many spans are in hand at once at the most, so that the record stays small. */
const MAX_IN_FLIGHT_RANGES = 64;
/** No span has more events. */
export const MAX_EVENTS = 500;
/** Of instances that take at the same time, one is first and the others look again. */
const MAX_CONFLICTS = 20;
const FULL_RECHECK_MS = 1000;
/** Of a thousand events each, where few are of the wanted types: the next call goes on. */
const MAX_READS = 20;

/** The next events of the consumer, for this instance alone until its lease is over. Waits where there are none. */
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

/** Nothing to take before something is published behind the end, or a lease lapses. */
interface NoEvents {
  end: string;
  nextCheckAt: number;
  /** Nothing was among what was looked at, and there is more to look at. */
  hasMore?: true;
}

type ConsumerState = Pick<Consumer, 'generation' | 'next' | 'inFlight' | 'lastRangeId'>;

/** What is to be written before it is answered, and the answer. */
interface ConsumerDecision<T> {
  change?: ConsumerState;
  answer: T;
}

const NEW_CONSUMER: ConsumerState = { generation: 1, inFlight: [], lastRangeId: 0 };

/** What lapsed comes before what nobody has seen. */
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
  // Their time in the log is over.
  const heard = page.events.filter(isOnChannels(channels));
  if (heard.length === 0) return { change: state, answer: { end: lapsed.to, nextCheckAt: 0, hasMore: true } };
  const span = { ...lapsed, lease: lapsed.lease + 1, until: clock.now() + leaseMs };
  return { change: { ...state, inFlight: [...others, span] }, answer: toTakenEvents(seen, span, heard) };
};

const readNew = async (
  { events, clock }: Deps,
  { project, types, channels }: ConsumerConfig,
  seen: ConsumerState,
  { max, leaseMs }: TakeOptions,
): Promise<ConsumerDecision<TakenEvents | NoEvents>> => {
  const nextCheckAt = Math.min(...seen.inFlight.map(({ until }) => until));
  if (seen.inFlight.length >= MAX_IN_FLIGHT_RANGES) {
    // An acknowledgement makes room, and nobody is told of it.
    return {
      answer: { end: await events.getEnd(project), nextCheckAt: Math.min(nextCheckAt, clock.now() + FULL_RECHECK_MS) },
    };
  }
  const page = await events.read(project, { after: seen.next, types, limit: max });
  const heard = page.events.filter(isOnChannels(channels));
  if (heard.length === 0) {
    const answer = { end: page.cursor, nextCheckAt };
    return page.cursor === seen.next
      ? { answer }
      : { change: { ...seen, next: page.cursor }, answer: { ...answer, hasMore: true } };
  }
  const id = seen.lastRangeId + 1;
  const span = { id, lease: 1, from: seen.next, to: page.cursor, until: clock.now() + leaseMs };
  const change = { ...seen, next: page.cursor, inFlight: [...seen.inFlight, span], lastRangeId: id };
  return { change, answer: toTakenEvents(seen, span, heard) };
};

/** What is said on no channel is for every consumer. */
const isOnChannels =
  (channels: string[]) =>
  ({ data }: ParleyEvent): boolean =>
    typeof data.channel !== 'string' || channels.includes(data.channel);

/** The log may tell of one event twice, next to each other for the most part. */
const toTakenEvents = (state: ConsumerState, span: InFlightRange, events: ParleyEvent[]): TakenEvents => ({
  events: [...new Map(events.map((event) => [event.id, event])).values()],
  receipt: formatReceipt(state, span),
  until: span.until,
});

/** What this instance took has been dealt with, and comes to nobody again. Acknowledging twice is the same as once. */
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

export type SeekTarget = 'start' | 'end' | Date;

/** From now on the consumer reads from there; what was given out before can no longer be acknowledged. Other consumers go on as they were. */
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

/** Looks, decides, and writes if nobody wrote in between; otherwise looks again. */
const updateConsumer = async <T>(
  { records, newId }: Deps,
  project: string,
  name: string,
  decide: (seen: ConsumerState | undefined) => ConsumerDecision<T> | Promise<ConsumerDecision<T>>,
): Promise<T> => {
  const ref = consumerRef(project, name);
  for (let refusals = 0; refusals < MAX_CONFLICTS; refusals++) {
    const seen = await records.get(ref);
    const { change, answer } = await decide(seen);
    if (!change) return answer;
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
    if (written.outcome === 'written') return answer;
  }
  throw new ParleyError('conflict', `Too many instances of the consumer ${name} at once. Try again.`);
};
