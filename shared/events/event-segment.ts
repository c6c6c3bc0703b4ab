import type { Caller } from '../identity/auth/authenticate.ts';
import { matchesTypes, type ParleyEvent } from '../ports/events.ts';
import { canReadEvent, listNamedAgents } from './can-read-event.ts';

/** Some events that follow each other in the log, as all who follow it are told of them: each is put into words once. */
export class EventSegment {
  /** Where it begins in the log, and where one is behind it. */
  readonly from: string;
  readonly to: string;
  readonly #events: ParleyEvent[];
  readonly #frames: string[] = [];
  /** The places of those that only some named agents may hear of, by agent; and of all others. */
  readonly #named = new Map<unknown, number[]>();
  readonly #others: number[] = [];
  /** Streams of the same agent that ask for the same types are told the same. */
  readonly #texts = new Map<unknown, Map<string, string>>();

  constructor(from: string, to: string, events: ParleyEvent[]) {
    this.from = from;
    this.to = to;
    this.#events = deduplicateEvents(events);
    for (const [at, event] of this.#events.entries()) {
      const names = listNamedAgents(event);
      if (!names) this.#others.push(at);
      for (const name of new Set(names)) this.#getNamedIndexes(name).push(at);
    }
  }

  /** As server-sent events, those of them that the caller may hear of and asks for; empty if there are none. */
  renderForCaller(caller: Caller, types: readonly string[] | undefined): string {
    // What an agent may hear of depends on its registration, which is read anew where it has changed.
    const hearer = caller.role === 'admin' ? caller.role : caller.registered;
    const texts = this.#texts.get(hearer) ?? new Map<string, string>();
    this.#texts.set(hearer, texts);
    const asked = types?.join(',') ?? '*';
    const text = texts.get(asked) ?? this.#render(caller, types);
    texts.set(asked, text);
    return text;
  }

  #getNamedIndexes(name: unknown): number[] {
    const places = this.#named.get(name) ?? [];
    this.#named.set(name, places);
    return places;
  }

  #render(caller: Caller, types: readonly string[] | undefined): string {
    const heard = this.#listCandidates(caller).filter((at) => {
      const event = this.#events[at];
      return event !== undefined && matchesTypes(types, event.type) && canReadEvent(caller, event);
    });
    // Only the last carries its place: whoever comes back in the middle of a stretch gets the stretch again.
    return heard
      .map((at, index) => (index === heard.length - 1 ? `id: ${this.to}\n` : '') + this.#getFrame(at))
      .join('');
  }

  #listCandidates(caller: Caller): number[] {
    if (caller.role === 'admin') return [...this.#events.keys()];
    const own = this.#named.get(caller.registered.agent.id);
    return own ? [...own, ...this.#others].toSorted((a, b) => a - b) : this.#others;
  }

  #getFrame(at: number): string {
    const event = this.#events[at];
    const frame = this.#frames[at] ?? (event ? encodeSseFrame(event) : '');
    this.#frames[at] = frame;
    return frame;
  }
}

/** The log may tell of one event twice, next to each other for the most part. */
export const deduplicateEvents = (events: ParleyEvent[]): ParleyEvent[] => {
  const seen = new Set<string>();
  return events.filter(({ id }) => !seen.has(id) && seen.add(id));
};

const encodeSseFrame = (event: ParleyEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
