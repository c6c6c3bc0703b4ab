import type { JsonObject } from '../kernel/json/json.ts';
import type { EventType } from './event-types.ts';

export interface ParleyEvent {
  /** Record, version and type: readers deduplicate by it. */
  id: string;
  project: string;
  type: EventType;
  /** Epoch milliseconds. */
  at: number;
  data: JsonObject;
}

export interface EventPage {
  events: ParleyEvent[];
  /** After the last event scanned, even if none matched. */
  cursor: string;
}

export interface EventReadOptions {
  /** Without it, the read starts at the oldest or newest event. */
  after?: string;
  until?: string;
  /** A type or a prefix with a star: `task.*`. */
  types?: string[] | undefined;
  /** Which of these. */
  where?: ((event: ParleyEvent) => boolean) | undefined;
  newestFirst?: boolean;
  limit: number;
}

export const matchesTypes = (types: readonly string[] | undefined, type: string): boolean =>
  !types || types.some((wanted) => (wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : wanted === type));

export const isWantedEvent = (
  { types, where }: Pick<EventReadOptions, 'types' | 'where'>,
  event: ParleyEvent,
): boolean => matchesTypes(types, event.type) && (where === undefined || where(event));

export interface Events {
  /** Resolves when durable. An event published twice may be read twice. */
  publish(events: ParleyEvent[]): Promise<void>;
  /** In publication order, or reversed. Rejects a cursor beyond the end of the log. */
  read(project: string, options: EventReadOptions): Promise<EventPage>;
  getEnd(project: string): Promise<string>;
  /** A position before everything published at `time` or later, and after most of the rest. */
  findPositionAt(project: string, time: number): Promise<string>;
  /** Resolves at the latest after `ms`, maybe without more events. */
  waitForMore(project: string, cursor: string, ms: number, signal?: AbortSignal): Promise<void>;
}
