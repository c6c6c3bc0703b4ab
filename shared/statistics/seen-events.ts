import type { Events, ParleyEvent } from '../ports/events.ts';

const MAX_SEEN = 10_000;
const LOOKBACK = 250;
const LATE_PAGE = 1000;
const MAX_LATE_PAGES = 20;
/** Later only if its publisher failed. */
const PUBLISHED_WITHIN_MS = 20_000;

/**
 * The events before a position of the log, which may come again behind it. Those that come again soon are known by their
 * ids. For older ones, the log is searched at their own time.
 */
export class SeenEvents {
  position: string | undefined;
  /** With their times, oldest first. */
  #times = new Map<string, number>();
  /** An event that is no newer than this may have been counted, though its id is not known. */
  #unknownUntil = -Infinity;
  readonly #events: Events;
  readonly #project: string;

  constructor(events: Events, project: string) {
    this.#events = events;
    this.#project = project;
  }

  static async load(events: Events, project: string, position: string | undefined): Promise<SeenEvents> {
    const seen = new SeenEvents(events, project);
    seen.position = position;
    if (position === undefined) return seen;
    const { events: last } = await events.read(project, { after: position, newestFirst: true, limit: LOOKBACK });
    for (const { id, at } of last.toReversed()) seen.#times.set(id, at);
    // Neighbours in the log may be out of order in time.
    if (last.length === LOOKBACK) seen.#unknownUntil = findNewest(last.slice(-LOOKBACK / 5).map(({ at }) => at));
    return seen;
  }

  copy(): SeenEvents {
    const copy = new SeenEvents(this.#events, this.#project);
    copy.position = this.position;
    copy.#unknownUntil = this.#unknownUntil;
    copy.#times = new Map(this.#times);
    return copy;
  }

  /** Which of the next events of the log were not there before. */
  async advance(events: readonly ParleyEvent[], position: string): Promise<ParleyEvent[]> {
    const earlier = await this.#findEarlier(events.filter((event) => this.#isLate(event)));
    const fresh: ParleyEvent[] = [];
    for (const event of events) {
      if (this.#times.has(event.id) || earlier.has(event.id)) continue;
      this.#times.set(event.id, event.at);
      fresh.push(event);
    }
    this.#forgetOldest();
    this.position = position;
    return fresh;
  }

  #isLate({ id, at }: ParleyEvent): boolean {
    return at <= this.#unknownUntil && !this.#times.has(id);
  }

  #forgetOldest(): void {
    if (this.#times.size <= MAX_SEEN) return;
    const all = [...this.#times];
    const forgotten = all.slice(0, all.length - MAX_SEEN / 2);
    this.#times = new Map(all.slice(forgotten.length));
    this.#unknownUntil = Math.max(this.#unknownUntil, findNewest(forgotten.map(([, at]) => at)));
  }

  async #findEarlier(late: readonly ParleyEvent[]): Promise<Set<string>> {
    const found = new Set<string>();
    const wanted = new Set(late.map(({ id }) => id));
    let after: string | undefined;
    let scannedUntil = -Infinity;
    let pages = 0;
    for (const { at } of late.toSorted((a, b) => a.at - b.at)) {
      if (after === undefined || scannedUntil < at) after = await this.#events.findPositionAt(this.#project, at);
      while (scannedUntil < at + PUBLISHED_WITHIN_MS && pages < MAX_LATE_PAGES) {
        pages += 1;
        const page = await this.#events.read(this.#project, { after, until: this.position, limit: LATE_PAGE });
        for (const { id } of page.events) if (wanted.has(id)) found.add(id);
        scannedUntil = page.events.at(-1)?.at ?? Infinity;
        after = page.cursor;
      }
    }
    return found;
  }
}

const findNewest = (times: number[]): number => times.reduce((newest, at) => Math.max(newest, at), -Infinity);
