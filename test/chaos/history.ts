import { toShortId } from '../../shared/kernel/ids.ts';

/** Counted by the recorder: which of two calls was answered before the other began needs no clock. */
export interface Span {
  begun: number;
  answered: number;
}

/** By the eight digits that every dialect has a form of. */
export type TaskKey = string;
export const toTaskKey = (name: string): TaskKey => (/^msg_[0-9a-f]{8}$/.test(name) ? name : toShortId(name));

/** A request that was answered for good. */
export interface Asked extends Span {
  kind: 'asked';
  by: string;
  dialect: string;
  task: TaskKey;
  id: string;
  /** In its input. */
  mark: string;
  isAccepted: boolean;
  isDuplicate: boolean;
  /** Sent again on purpose, after it had been accepted. */
  isAgain?: true;
  dependency?: TaskKey;
  /** Epoch milliseconds of the server. */
  notBefore?: number;
  onNats?: true;
}

export interface Claimed extends Span {
  kind: 'claimed';
  agent: string;
  claimId: string;
  tasks: { task: TaskKey; attempt: number; marks: string[]; steps: Record<string, unknown> }[];
}

/** What an agent said of a task that it was given. */
export interface Reported extends Span {
  kind: 'reported';
  what: 'progress' | 'result' | 'failure' | 'release' | 'step';
  agent: string;
  task: TaskKey;
  /** Of the attempt that it was given, and where the dialect can say so, the one that it named. */
  attempt: number;
  isNamed: boolean;
  isAccepted: boolean;
  isDuplicate: boolean;
  isAgain?: true;
  /** It came too late, and was passed on as a message that counts for nothing. */
  isPlain?: true;
  /** The answer does not tell whether it counted, or came too late and was passed on as a message. */
  isUnsure?: true;
  /** There was no such task, though it had been handed out. */
  isUnknown?: true;
  mark?: string;
  step?: { name: string; value: unknown; kept: unknown };
}

export interface Cancelled extends Span {
  kind: 'cancelled';
  task: TaskKey;
  isAccepted: boolean;
}

/** One entry of an inbox, each time that it was read. */
export interface Read extends Span {
  kind: 'read';
  agent: string;
  id: string;
  what: 'outcome' | 'note' | 'other';
  task?: TaskKey;
  marks: string[];
}

export interface Acknowledged extends Span {
  kind: 'acknowledged';
  agent: string;
  ids: string[];
}

export interface Noted extends Span {
  kind: 'noted';
  to: string;
  mark: string;
  isAccepted: boolean;
  onNats?: true;
}

export interface Called extends Span {
  kind: 'called';
  agent: string;
  turn: string;
  correlation: string;
}

export interface Leased extends Span {
  kind: 'leased';
  agent: string;
  worker: string;
  turn: string;
  epoch: number;
}

export interface Advanced extends Span {
  kind: 'advanced';
  verb: 'start' | 'step' | 'suspend' | 'deliver';
  agent: string;
  worker: string;
  turn: string;
  epoch: number;
  isAccepted: boolean;
  isDuplicate: boolean;
  step?: string;
}

/** An event as a slow reader of the live stream got it. */
export interface Streamed extends Span {
  kind: 'streamed';
  id: string;
}

export interface Scheduled extends Span {
  kind: 'scheduled';
  id: string;
  runs: number;
}

export type Entry =
  | Asked
  | Claimed
  | Reported
  | Cancelled
  | Read
  | Acknowledged
  | Noted
  | Called
  | Leased
  | Advanced
  | Streamed
  | Scheduled;

export interface LoggedEvent {
  id: string;
  type: string;
  at: number;
  // biome-ignore lint/suspicious/noExplicitAny: as the wire has it
  data: any;
}

/** What the system shows when everything has come to rest. */
export interface End {
  /** As `GET /v1/tasks/{id}` shows them; one that is not there is absent. */
  // biome-ignore lint/suspicious/noExplicitAny: as the wire has it
  tasks: Record<TaskKey, any>;
  // biome-ignore lint/suspicious/noExplicitAny: as the wire has it
  turns: Record<string, any>;
  /** The log in its order, each event once. */
  events: LoggedEvent[];
  /** How many events had been logged when the slow reader began. */
  streamedFrom: number | undefined;
  /** What is left in inboxes, by agent. */
  inboxes: Record<string, string[]>;
  /** The marks in what came out of NATS, with every message once for each time that the stream holds it. */
  onNats: string[][];
  /** Claimed, and by its own word not put into words: handed out with a repetition of the claim, or after the lease. */
  unhanded: TaskKey[];
  /** What was logged as an error that no fault explains, and processes that ended by themselves. */
  troubles: string[];
}

export interface History {
  entries: Entry[];
  end: End;
}

export const of = <K extends Entry['kind']>(history: History, kind: K): Extract<Entry, { kind: K }>[] =>
  history.entries.filter((entry): entry is Extract<Entry, { kind: K }> => entry.kind === kind);

/** What clients write into inputs, results and errors, to know them again in any dialect. */
const MARK = /mark-[0-9a-f]{12}/g;
export const marksIn = (value: unknown): string[] => [...new Set(JSON.stringify(value ?? null).match(MARK) ?? [])];

export class Recorder {
  readonly entries: Entry[] = [];
  #ticks = 0;

  tick(): number {
    this.#ticks += 1;
    return this.#ticks;
  }

  /** The answer came now. */
  add(entry: DistributiveOmit<Entry, 'answered'>): void {
    this.entries.push({ ...entry, answered: this.tick() } as Entry);
  }
}

type DistributiveOmit<T, K extends string> = T extends unknown ? Omit<T, K> : never;
