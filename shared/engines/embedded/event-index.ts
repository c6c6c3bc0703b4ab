import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  type EventSubject,
  forEachSubject,
  listWantedSubjects,
  type ParleyEvent,
  SUBJECT_KINDS,
  type SubjectKind,
} from '../../ports/events.ts';
import type { Database } from './database.ts';

/**
 * So many numbers of batches share one entry of a subject. Agents and domains are in most of them: of a task cycle, about two entries
 * are its own.
 */
const BATCHES_PER_BLOCK = 32;
/** One takes 2 µs. */
const MAX_SEEKS = 5000;
const ROWS_PER_INSERT = 32;
const PAGE_ROWS = 1000;
/** Of a sweep, which may not hold up others. */
const MAX_DELETED_BLOCKS = 16;

export interface StoredBatch {
  seq: number;
  project: string;
  events: readonly ParleyEvent[];
}

/** The next block that may have a match, or one before which there is none: then the seeks of the call are spent. */
interface FoundBlock {
  block: number;
  mayMatch: boolean;
}

export const toBlock = (seq: number): number => Math.floor(seq / BATCHES_PER_BLOCK);
export const getFirstSeq = (block: number): number => block * BATCHES_PER_BLOCK;

/**
 * Which blocks of the log have events of a subject. It follows from the log, so the journal has nothing of it: entries are written
 * late, and together, before SQLite commits and before a read.
 */
export class EventIndex {
  readonly #db: Database;
  readonly #writer: EntryWriter;
  readonly #next: StatementSync;
  readonly #previous: StatementSync;
  readonly #first: StatementSync;
  readonly #deleteBlock: StatementSync;
  /** After a crash the journal has brought back events that are not indexed. */
  #isBehind = true;

  constructor(db: Database) {
    this.#db = db;
    this.#writer = new EntryWriter(db.sql, (statement, values) => db.runDerived(statement, ...values));
    const select = 'SELECT block FROM event_subjects WHERE subject = ? AND block';
    this.#next = db.sql.prepare(`${select} >= ? ORDER BY block LIMIT 1`);
    this.#previous = db.sql.prepare(`${select} <= ? ORDER BY block DESC LIMIT 1`);
    this.#first = db.sql.prepare('SELECT min(block) AS block FROM event_subjects');
    this.#deleteBlock = db.sql.prepare('DELETE FROM event_subjects WHERE block = ?');
    db.onBeforeRotation(() => this.flush());
  }

  add(batch: StoredBatch): void {
    if (!this.#isBehind) this.#writer.add(batch);
  }

  flush(): void {
    if (this.#isBehind) this.#catchUp();
    this.#writer.flush();
  }

  #catchUp(): void {
    this.#isBehind = false;
    for (const batch of iterateUnindexed(this.#db.sql)) this.#writer.add(batch);
  }

  /** Undefined if there is none from this block on, or before it. */
  find(project: string, subject: EventSubject, from: number, newestFirst: boolean): FoundBlock | undefined {
    const entries = listWantedSubjects(subject).map(([kind, name]) => hashSubject(project, kind, name));
    const seek = newestFirst ? this.#previous : this.#next;
    let block = from;
    let agreed = 0;
    for (let seeks = 0; agreed < entries.length; seeks++) {
      if (seeks === MAX_SEEKS) return { block, mayMatch: false };
      const row = seek.get(entries[seeks % entries.length] ?? 0, block);
      if (!row) return undefined;
      agreed = Number(row.block) === block ? agreed + 1 : 1;
      block = Number(row.block);
    }
    return { block, mayMatch: true };
  }

  /** Some of what lies before the first event. */
  deleteBefore(seq: number): void {
    for (let count = 0; count < MAX_DELETED_BLOCKS; count++) {
      const first = this.#first.get()?.block;
      if (typeof first !== 'number' || first >= toBlock(seq)) return;
      this.#db.runDerived(this.#deleteBlock, first);
    }
  }
}

/** Of all events. */
export const rebuildEventIndex = (sql: DatabaseSync): void => {
  sql.exec('DELETE FROM event_subjects');
  const writer = new EntryWriter(sql, (statement, values) => void statement.run(...values));
  for (const batch of iterateUnindexed(sql)) writer.add(batch);
  writer.flush();
};

/** From the last block on, whose entries may lack the later ones of its batches. */
function* iterateUnindexed(sql: DatabaseSync): Generator<StoredBatch> {
  const last = sql.prepare('SELECT max(block) AS block FROM event_subjects').get()?.block;
  const page = sql.prepare(`SELECT seq, project, batch FROM events WHERE seq >= ? ORDER BY seq LIMIT ${PAGE_ROWS}`);
  for (let from = getFirstSeq(Number(last ?? 0)); ; ) {
    const rows = page.all(from);
    for (const { seq, project, batch } of rows)
      yield { seq: Number(seq), project: String(project), events: parseBatch(String(batch)) };
    if (rows.length < PAGE_ROWS) return;
    from = Number(rows.at(-1)?.seq) + 1;
  }
}

/** None of a damaged one: whoever reads its events is told, and a start or a salvage goes on. */
const parseBatch = (batch: string): ParleyEvent[] => {
  try {
    return JSON.parse(batch);
  } catch {
    return [];
  }
};

/** Each entry of a block once. */
class EntryWriter {
  readonly #sql: DatabaseSync;
  readonly #run: (statement: StatementSync, values: SQLInputValue[]) => void;
  readonly #statements = new Map<number, StatementSync>();
  #block = -1;
  #project = '';
  readonly #seen = new Map(SUBJECT_KINDS.map((kind) => [kind, new Set<string>()]));
  #values: number[] = [];

  constructor(sql: DatabaseSync, run: (statement: StatementSync, values: SQLInputValue[]) => void) {
    this.#sql = sql;
    this.#run = run;
  }

  add({ seq, project, events }: StoredBatch): void {
    const block = toBlock(seq);
    if (block !== this.#block || project !== this.#project) for (const names of this.#seen.values()) names.clear();
    this.#block = block;
    this.#project = project;
    for (const event of events) {
      forEachSubject(event, (kind, name) => this.#addEntry(kind, name));
      if (this.#values.length >= 2 * ROWS_PER_INSERT) this.flush();
    }
  }

  #addEntry(kind: SubjectKind, name: string): void {
    const names = this.#seen.get(kind);
    if (names?.has(name)) return;
    names?.add(name);
    this.#values.push(hashSubject(this.#project, kind, name), this.#block);
  }

  flush(): void {
    const rows = this.#values.length / 2;
    if (rows > 0) this.#run(this.#prepareInsert(rows), this.#values);
    this.#values = [];
  }

  #prepareInsert(rows: number): StatementSync {
    const known = this.#statements.get(rows);
    if (known) return known;
    const places = Array.from({ length: rows }, () => '(?, ?)').join(', ');
    const insert = this.#sql.prepare(`INSERT OR IGNORE INTO event_subjects (subject, block) VALUES ${places}`);
    this.#statements.set(rows, insert);
    return insert;
  }
}

const FNV_PRIME = 0x01000193;
const FNV_OFFSET = 0x811c9dc5;

/** FNV-1a, twice, in the 53 bits of an exact number. Subjects that share one are told apart by their events. */
const hashSubject = (project: string, kind: SubjectKind, name: string): number => {
  const start = hashText(hashText(FNV_OFFSET, kind), project);
  const low = hashText(start, name);
  const high = hashText(~start, name);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
};

const hashText = (start: number, text: string): number => {
  let hashed = start;
  for (let at = 0; at < text.length; at++) hashed = Math.imul(hashed ^ text.charCodeAt(at), FNV_PRIME);
  return Math.imul(hashed ^ (hashed >>> 15), FNV_PRIME);
};
