import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { absent, is } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { type Consumer, consumerRef, type Declared, declaredAs, RECEIPT, receiptOf, type Span } from './consumer.ts';

export interface Wanted {
  max: number;
  /** For how long what is given out belongs to whoever took it. */
  leaseMs: number;
  waitMs: number;
  signal?: AbortSignal;
}

export interface Taken {
  events: ParleyEvent[];
  /** Acknowledges them; absent where there are none. */
  receipt?: string;
  until?: number;
}

/** So many spans are in hand at once at the most, so that the record stays small. */
const MOST_SPANS = 64;
/** No span has more events. */
export const MOST_EVENTS = 500;
/** Of instances that take at the same time, one is first and the others look again. */
const MAX_REFUSALS = 20;
const FULL_MS = 1000;
/** Of a thousand events each, where few are of the wanted types: the next call goes on. */
const MOST_LOOKS = 20;

/** The next events of the consumer, for this instance alone until its lease is over. Waits where there are none. */
export const takeEvents = async (deps: Deps, caller: Caller, name: string, wanted: Wanted): Promise<Taken> => {
  const declared = declaredAs(deps, caller, name);
  const giveUp = deps.clock.now() + wanted.waitMs;
  for (let looks = 1; ; looks++) {
    const taken = await changed(deps, declared.project, name, (seen) => nextOf(deps, declared, seen, wanted));
    if ('events' in taken) return taken;
    if (taken.isMore && looks < MOST_LOOKS) continue;
    const now = deps.clock.now();
    if (now >= giveUp || wanted.signal?.aborted) return { events: [] };
    const leftMs = Math.min(giveUp, taken.lookAgainAt) - now;
    await deps.events.more(declared.project, taken.end, leftMs, wanted.signal);
  }
};

/** Nothing to take before something is published behind the end, or a lease lapses. */
interface Nothing {
  end: string;
  lookAgainAt: number;
  /** Nothing was among what was looked at, and there is more to look at. */
  isMore?: true;
}

type State = Pick<Consumer, 'generation' | 'next' | 'spans' | 'lastSpan'>;

/** What is to be written before it is answered, and the answer. */
interface Decision<T> {
  change?: State;
  answer: T;
}

const NEW: State = { generation: 1, spans: [], lastSpan: 0 };

/** What lapsed comes before what nobody has seen. */
const nextOf = async (
  deps: Deps,
  declared: Declared,
  seen: State = NEW,
  wanted: Wanted,
): Promise<Decision<Taken | Nothing>> => {
  const now = deps.clock.now();
  const lapsed = seen.spans.find(({ until }) => until <= now);
  return lapsed ? againOf(deps, declared, seen, lapsed, wanted) : newOf(deps, declared, seen, wanted);
};

const againOf = async (
  { events, clock }: Deps,
  { project, types, channels }: Declared,
  seen: State,
  lapsed: Span,
  { leaseMs }: Wanted,
): Promise<Decision<Taken | Nothing>> => {
  const page = await events.read(project, { after: lapsed.from, until: lapsed.to, types, limit: MOST_EVENTS });
  const others = seen.spans.filter(({ id }) => id !== lapsed.id);
  const state = { ...seen, spans: others };
  // Their time in the log is over.
  const heard = page.events.filter(on(channels));
  if (heard.length === 0) return { change: state, answer: { end: lapsed.to, lookAgainAt: 0, isMore: true } };
  const span = { ...lapsed, lease: lapsed.lease + 1, until: clock.now() + leaseMs };
  return { change: { ...state, spans: [...others, span] }, answer: takenOf(seen, span, heard) };
};

const newOf = async (
  { events, clock }: Deps,
  { project, types, channels }: Declared,
  seen: State,
  { max, leaseMs }: Wanted,
): Promise<Decision<Taken | Nothing>> => {
  const lookAgainAt = Math.min(...seen.spans.map(({ until }) => until));
  if (seen.spans.length >= MOST_SPANS) {
    // An acknowledgement makes room, and nobody is told of it.
    return { answer: { end: await events.end(project), lookAgainAt: Math.min(lookAgainAt, clock.now() + FULL_MS) } };
  }
  const page = await events.read(project, { after: seen.next, types, limit: max });
  const heard = page.events.filter(on(channels));
  if (heard.length === 0) {
    const answer = { end: page.cursor, lookAgainAt };
    return page.cursor === seen.next
      ? { answer }
      : { change: { ...seen, next: page.cursor }, answer: { ...answer, isMore: true } };
  }
  const id = seen.lastSpan + 1;
  const span = { id, lease: 1, from: seen.next, to: page.cursor, until: clock.now() + leaseMs };
  const change = { ...seen, next: page.cursor, spans: [...seen.spans, span], lastSpan: id };
  return { change, answer: takenOf(seen, span, heard) };
};

/** What is said on no channel is for every consumer. */
const on =
  (channels: string[]) =>
  ({ data }: ParleyEvent): boolean =>
    typeof data.channel !== 'string' || channels.includes(data.channel);

/** The log may tell of one event twice, next to each other for the most part. */
const takenOf = (state: State, span: Span, events: ParleyEvent[]): Taken => ({
  events: [...new Map(events.map((event) => [event.id, event])).values()],
  receipt: receiptOf(state, span),
  until: span.until,
});

/** What this instance took has been dealt with, and comes to nobody again. Acknowledging twice is the same as once. */
export const acknowledge = async (
  deps: Deps,
  caller: Caller,
  name: string,
  receipt: string,
): Promise<{ duplicate: boolean }> => {
  const { project } = declaredAs(deps, caller, name);
  const [generation, id, lease] = (RECEIPT.exec(receipt) ?? []).slice(1).map(Number);
  return changed<{ duplicate: boolean }>(deps, project, name, (seen = NEW) => {
    const span = seen.spans.find((one) => one.id === id);
    const isKnown = generation === seen.generation && id !== undefined && id <= seen.lastSpan;
    if (!isKnown || (span && span.lease !== lease)) throw staleReceipt(name);
    if (!span) return { answer: { duplicate: true } };
    const spans = seen.spans.filter((one) => one !== span);
    return { change: { ...seen, spans }, answer: { duplicate: false } };
  });
};

const staleReceipt = (name: string): ParleyError =>
  new ParleyError(
    'stale_receipt',
    `The receipt is not one that the consumer ${name} gave, or its time was over and the events went to another instance, or the consumer was rewound.`,
  );

export type Whither = 'start' | 'end' | Date;

/** From now on the consumer reads from there; what was given out before can no longer be acknowledged. Other consumers go on as they were. */
export const rewind = async (deps: Deps, caller: Caller, name: string, to: Whither): Promise<void> => {
  const { project } = declaredAs(deps, caller, name);
  const next = await placeIn(deps, project, to);
  await changed(deps, project, name, (seen = NEW) => ({
    change: { ...seen, generation: seen.generation + 1, next, spans: [] },
    answer: undefined,
  }));
};

const placeIn = async ({ events }: Deps, project: string, to: Whither): Promise<string | undefined> => {
  if (to === 'start') return undefined;
  return to === 'end' ? events.end(project) : events.since(project, to.getTime());
};

/** Looks, decides, and writes if nobody wrote in between; otherwise looks again. */
const changed = async <T>(
  { records, newId }: Deps,
  project: string,
  name: string,
  decide: (seen: State | undefined) => Decision<T> | Promise<Decision<T>>,
): Promise<T> => {
  const ref = consumerRef(project, name);
  for (let refusals = 0; refusals < MAX_REFUSALS; refusals++) {
    const seen = await records.get(ref);
    const { change, answer } = await decide(seen);
    if (!change) return answer;
    const { generation, next, spans, lastSpan } = change;
    const written = await records.update(
      ref,
      {
        if: seen ? is('v', seen.v) : absent('v'),
        set: { generation, next, spans, lastSpan },
        unset: next === undefined ? ['next'] : [],
      },
      newId(),
      'orCreate',
    );
    if (written.outcome === 'written') return answer;
  }
  throw new ParleyError('conflict', `Too many instances of the consumer ${name} at once. Try again.`);
};
