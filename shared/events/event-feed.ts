import { setImmediate as letOthersRun, setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../ports/clock.ts';
import type { EventPage, Events } from '../ports/events.ts';
import { COALESCE_MS, Waiters } from '../storage/waiters.ts';
import { EventSegment } from './event-segment.ts';

/** Of the log's tail, so many stretches are at hand. Whoever is further behind reads the log by itself until it is no longer. */
const MAX_SEGMENTS = 4;
/** Of one stretch, as many as one read looks at. */
const MAX_EVENTS_PER_READ = 1000;
const RECHECK_MS = 15_000;

/** The end of a project's log, read once for all who follow it. */
export class EventFeed {
  readonly #events: Events;
  readonly #project: string;
  readonly #segments = new Map<string, EventSegment>();
  readonly #waiters: Waiters;
  #followers = 0;
  #run: { stop: AbortController; cursor: string } | undefined;
  #lastOfBehind: Promise<unknown> = Promise.resolve();

  constructor(events: Events, clock: Clock, project: string) {
    this.#events = events;
    this.#project = project;
    this.#waiters = new Waiters(clock);
  }

  /** Returns what leaves it. Without followers nothing is read. */
  join(): () => void {
    this.#followers += 1;
    return () => {
      this.#followers -= 1;
      if (this.#followers === 0) this.#stop();
    };
  }

  /** How far it has read; undefined while nobody has begun it. */
  get cursor(): string | undefined {
    return this.#run?.cursor;
  }

  /** What comes behind a place in the log, if that is at hand. */
  getSegmentAfter(cursor: string): EventSegment | undefined {
    return this.#segments.get(cursor);
  }

  /** Reads on from here, unless it reads already. */
  startAt(cursor: string): void {
    if (this.#run) return;
    const run = { stop: new AbortController(), cursor };
    this.#run = run;
    // Whoever follows reads by itself then, and is told of the failure.
    this.#readLoop(run).catch(() => this.#run === run && this.#stop());
  }

  /** Resolves when it has read more, after `ms` at the latest. */
  waitForMore(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(ms, signal);
  }

  /**
   * A page for one who is behind. Those are read one after the other, and each after whatever else the process has to do: a log in
   * memory is read without waiting for anything, and one of 300,000 events held the process for 4 s.
   */
  readBehind(query: Parameters<Events['read']>[1]): Promise<EventPage> {
    const page = this.#lastOfBehind.then(() => letOthersRun()).then(() => this.#events.read(this.#project, query));
    this.#lastOfBehind = page.catch(() => {});
    return page;
  }

  async #readLoop(run: { stop: AbortController; cursor: string }): Promise<void> {
    const { signal } = run.stop;
    while (!signal.aborted) {
      const { events, cursor } = await this.#events.read(this.#project, {
        after: run.cursor,
        limit: MAX_EVENTS_PER_READ,
      });
      if (signal.aborted) return;
      if (cursor === run.cursor) {
        await this.#events.waitForMore(this.#project, cursor, RECHECK_MS, signal);
        continue;
      }
      this.#cacheSegment(new EventSegment(run.cursor, cursor, events));
      run.cursor = cursor;
      this.#waiters.wakeAll();
      if (events.length < MAX_EVENTS_PER_READ) await pause(COALESCE_MS, undefined, { signal });
    }
  }

  #cacheSegment(stretch: EventSegment): void {
    const [oldest] = this.#segments.keys();
    if (oldest !== undefined && this.#segments.size >= MAX_SEGMENTS) this.#segments.delete(oldest);
    this.#segments.set(stretch.from, stretch);
  }

  #stop(): void {
    this.#run?.stop.abort();
    this.#run = undefined;
    this.#segments.clear();
    this.#waiters.wakeAll();
  }
}

const feeds = new WeakMap<Events, Map<string, EventFeed>>();

export const getEventFeed = (events: Events, clock: Clock, project: string): EventFeed => {
  const byProject = feeds.get(events) ?? new Map<string, EventFeed>();
  feeds.set(events, byProject);
  const feed = byProject.get(project) ?? new EventFeed(events, clock, project);
  byProject.set(project, feed);
  return feed;
};
