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

/** What an event is about. All that is given must hold. */
export interface EventSubject {
  task?: string | undefined;
  /** The requester or sender, the addressee, or the holder. */
  agent?: string | undefined;
  domain?: string | undefined;
  /** A conversation, or the channel of a turn. */
  conversation?: string | undefined;
}

export type SubjectKind = keyof EventSubject;
/** The rarest first. */
export const SUBJECT_KINDS = ['task', 'conversation', 'agent', 'domain'] as const satisfies SubjectKind[];

/** The fields of an event that name a subject. */
const SUBJECT_FIELDS: Readonly<Record<SubjectKind, readonly string[]>> = {
  task: ['taskId'],
  agent: ['from', 'to', 'agent'],
  domain: ['domain'],
  conversation: ['conversationId', 'channel'],
};

/** All by which it can be found. */
export const forEachSubject = (
  { data }: Pick<ParleyEvent, 'data'>,
  use: (kind: SubjectKind, name: string) => void,
): void => {
  for (const kind of SUBJECT_KINDS) {
    for (const field of SUBJECT_FIELDS[kind]) {
      const name = data[field];
      if (typeof name === 'string') use(kind, name);
    }
  }
};

/** Of a filter, the rarest first. */
export const listWantedSubjects = (subject: EventSubject = {}): [kind: SubjectKind, name: string][] =>
  SUBJECT_KINDS.flatMap((kind): [SubjectKind, string][] =>
    subject[kind] === undefined ? [] : [[kind, subject[kind]]],
  );

export const matchesSubject = (subject: EventSubject = {}, { data }: Pick<ParleyEvent, 'data'>): boolean =>
  SUBJECT_KINDS.every(
    (kind) => subject[kind] === undefined || SUBJECT_FIELDS[kind].some((field) => data[field] === subject[kind]),
  );

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
  /** An engine may find these by an index, so that a rare one costs no more than a frequent one. */
  subject?: EventSubject | undefined;
  /** Which of these. */
  where?: ((event: ParleyEvent) => boolean) | undefined;
  newestFirst?: boolean;
  limit: number;
}

export const matchesTypes = (types: readonly string[] | undefined, type: string): boolean =>
  !types || types.some((wanted) => (wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : wanted === type));

export const isWantedEvent = (
  { types, subject, where }: Pick<EventReadOptions, 'types' | 'subject' | 'where'>,
  event: ParleyEvent,
): boolean =>
  matchesTypes(types, event.type) && matchesSubject(subject, event) && (where === undefined || where(event));

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
