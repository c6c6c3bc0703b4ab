import { setImmediate as letOthersRun, setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../ports/clock.ts';
import type { EventPage, Events } from '../ports/events.ts';
import { COALESCE_MS, Waiters } from '../storage/waiters.ts';
import { EventSegment } from './event-segment.ts';

/** Segments of the log's tail in memory. Slower readers read the log themselves. */
const MAX_SEGMENTS = 4;
const MAX_EVENTS_PER_READ = 1000;
const RECHECK_MS = 15_000;

/** The end of a project's log, read once for all followers. */
class EventFeed {
  readonly #events: Events;
  readonly #project: string;
  readonly #segments = new Map<string, EventSegment>();
  readonly #waiters: Waiters;
  #subscribers = 0;
  #run: { stop: AbortController; cursor: string } | undefined;
  #lastOfBehind: Promise<unknown> = Promise.resolve();

  constructor(events: Events, clock: Clock, project: string) {
    this.#events = events;
    this.#project = project;
    this.#waiters = new Waiters(clock);
  }

  /** Returns a leave function. Without followers nothing is read. */
  join(): () => void {
    this.#subscribers += 1;
    return () => {
      this.#subscribers -= 1;
      if (this.#subscribers === 0) this.#stop();
    };
  }

  get cursor(): string | undefined {
    return this.#run?.cursor;
  }

  getSegmentAfter(cursor: string): EventSegment | undefined {
    return this.#segments.get(cursor);
  }

  startAt(cursor: string): void {
    if (this.#run) return;
    const run = { stop: new AbortController(), cursor };
    this.#run = run;
    // Followers then read the log themselves and see the error.
    this.#readLoop(run).catch(() => this.#run === run && this.#stop());
  }

  waitForMore(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(ms, signal);
  }

  /**
   * Sequential, with a turn of the event loop between pages: otherwise 300,000 events in memory block the process for 4
   * s.
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
