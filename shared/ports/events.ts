import type { JsonObject } from '../kernel/json/json.ts';
import type { EventType } from './event-types.ts';

/** Something that happened, told once for each record and version. */
export interface ParleyEvent {
  /** The record, its version and the type: readers that must not count twice compare this. */
  id: string;
  project: string;
  type: EventType;
  /** Epoch milliseconds. */
  at: number;
  data: JsonObject;
}

export interface EventPage {
  events: ParleyEvent[];
  /**
   * Continues behind the last event that was looked at, also where none matched. It is the one that the read was given only
   * where the log ends there.
   */
  cursor: string;
}

export interface EventReadOptions {
  /** A place in the log, from a read in either direction. Without it, the read begins with the oldest, or with the newest. */
  after?: string;
  /** Another place, which the read does not pass. */
  until?: string;
  /** `task.completed`, or with a star all that begin alike: `task.*`. */
  types?: string[];
  newestFirst?: boolean;
  limit: number;
}

export const matchesTypes = (types: readonly string[] | undefined, type: string): boolean =>
  !types || types.some((wanted) => (wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : wanted === type));

/** The log of what happened, kept for a time and open to be read again from any point in it. */
export interface Events {
  /** Resolves when they are durable. The same event published twice may be read twice. */
  publish(events: ParleyEvent[]): Promise<void>;
  /** In the order of publication, or newest first in the opposite one. A place ahead of the log's end is refused. */
  read(project: string, options: EventReadOptions): Promise<EventPage>;
  /** Where the log of the project ends now. */
  getEnd(project: string): Promise<string>;
  /** A place before all that was published at the time, in epoch milliseconds, or later; of what came before it, little lies behind it. */
  findPositionAt(project: string, time: number): Promise<string>;
  /** Resolves when there may be more to read behind the cursor, after `ms` at the latest. */
  waitForMore(project: string, cursor: string, ms: number, signal?: AbortSignal): Promise<void>;
}
