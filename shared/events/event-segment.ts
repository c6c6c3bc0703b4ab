import type { Caller } from '../identity/auth/authenticate.ts';
import {
  type EventSubject,
  listWantedSubjects,
  matchesSubject,
  matchesTypes,
  type ParleyEvent,
} from '../ports/events.ts';
import { canReadEvent, listNamedAgents } from './can-read-event.ts';
import { toCloudEvent } from './cloud-event.ts';

export type EventFormat = 'parley' | 'cloudevents';

/** Encoded once for all followers. */
export class EventSegment {
  readonly from: string;
  readonly to: string;
  readonly #events: ParleyEvent[];
  readonly #frames = { parley: [] as string[], cloudevents: [] as string[] };
  /** Positions by agent for restricted events, and of all others. */
  readonly #named = new Map<unknown, number[]>();
  readonly #others: number[] = [];
  /** Streams of one agent with the same types share one text. */
  readonly #texts = new Map<unknown, Map<string, string>>();
  #byTask: Map<unknown, ParleyEvent[]> | undefined;

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

  renderForCaller(
    caller: Caller,
    types: readonly string[] | undefined,
    subject: EventSubject = {},
    format: EventFormat = 'parley',
  ): string {
    // Keyed by the registration, which is read again when it changes.
    const hearer = caller.role === 'admin' ? caller.role : caller.registered;
    const texts = this.#texts.get(hearer) ?? new Map<string, string>();
    this.#texts.set(hearer, texts);
    const asked = JSON.stringify([format, types, ...listWantedSubjects(subject)]);
    const text = texts.get(asked) ?? this.#render(caller, types, subject, format);
    texts.set(asked, text);
    return text;
  }

  /** In their order. */
  listTaskEvents(taskId: string): ParleyEvent[] {
    this.#byTask ??= Map.groupBy(this.#events, ({ data }): unknown => data.taskId);
    return this.#byTask.get(taskId) ?? [];
  }

  #getNamedIndexes(name: unknown): number[] {
    const places = this.#named.get(name) ?? [];
    this.#named.set(name, places);
    return places;
  }

  #render(caller: Caller, types: readonly string[] | undefined, subject: EventSubject, format: EventFormat): string {
    const readable = this.#listCandidates(caller).filter((at) => {
      const event = this.#events[at];
      return (
        event !== undefined &&
        matchesTypes(types, event.type) &&
        matchesSubject(subject, event) &&
        canReadEvent(caller, event)
      );
    });
    // Only the last event has an id: a reader that reconnects within a segment gets it again.
    return readable
      .map((at, index) => (index === readable.length - 1 ? `id: ${this.to}\n` : '') + this.#getFrame(at, format))
      .join('');
  }

  #listCandidates(caller: Caller): number[] {
    if (caller.role === 'admin') return [...this.#events.keys()];
    const own = this.#named.get(caller.registered.agent.id);
    return own ? [...own, ...this.#others].toSorted((a, b) => a - b) : this.#others;
  }

  #getFrame(at: number, format: EventFormat): string {
    const event = this.#events[at];
    const frames = this.#frames[format];
    const frame = frames[at] ?? (event ? encodeSseFrame(event, format) : '');
    frames[at] = frame;
    return frame;
  }
}

/** The log may contain an event twice, usually in sequence. */
export const deduplicateEvents = (events: ParleyEvent[]): ParleyEvent[] => {
  const seen = new Set<string>();
  return events.filter(({ id }) => !seen.has(id) && seen.add(id));
};

const encodeSseFrame = (event: ParleyEvent, format: EventFormat): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(format === 'parley' ? event : toCloudEvent(event))}\n\n`;
