import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { buildJournalPaths, decodeRuns, FIRST_POSITION, type JournalPosition } from './journal.ts';
import { FIRST_ENTRY_OFFSET, type JournalContent, type JournalEntry, readJournalFile } from './journal-file.ts';
import {
  type Committed,
  type DatabaseState,
  isDamaged,
  readAlone,
  readDatabase,
  storeInHead,
} from './read-database.ts';

/** Named unlike the database, so that both are not deleted together. */
export const STORE_ID_FILE = 'store-id';

interface JournalTail {
  /** Not yet committed by SQLite, in order. */
  entries: JournalEntry[];
  position: JournalPosition;
}

export interface StorageInspection extends JournalTail {
  committed: Committed;
}

interface NamedJournalContent extends JournalContent {
  name: string;
}

export class StorageDamageError extends Error {
  readonly database: DatabaseState;
  /** Can run on top of what SQLite has committed. */
  readonly entries: JournalEntry[];
  /** Intact, but entries before them are missing. */
  readonly unreachableEntries: JournalEntry[];

  constructor(found: string[], database: DatabaseState, entries: JournalEntry[], unreachableEntries: JournalEntry[]) {
    const groups = `${unreachableEntries.length} whole ${unreachableEntries.length === 1 ? 'group' : 'groups'} of writes`;
    super(`${found.join('; ')}; ${groups} can be read behind the damage`);
    this.name = 'StorageDamage';
    this.database = database;
    this.entries = entries;
    this.unreachableEntries = unreachableEntries;
  }
}

/** Changes nothing. Throws `StorageDamageError`. */
export const inspectStorage = (path: string): StorageInspection | undefined => {
  const [one, other] = buildJournalPaths(path);
  const journals = [readNamedJournal(one), readNamedJournal(other)] as const;
  const database = isStranger(path, journals) ? ({ state: 'of another folder' } as const) : readDatabase(path);
  if (database.state === 'readable') return inspectJournals(path, database, database.committed, journals);
  const entries = pickLargestStore(journals);
  const traces = listStoreTraces(path, entries.length);
  const isNew = ['missing', 'empty', 'without tables'].includes(database.state);
  if (isNew && traces.length === 0) return undefined;
  throw new StorageDamageError([describeDatabase(path, database, traces)], database, [], entries);
};

/** One second per 300 MB. Also runs the journal entries and rolls them back. */
export const checkPages = (path: string, { committed, entries }: StorageInspection): void => {
  // A writable connection could checkpoint a damaged WAL.
  const sql = new DatabaseSync(path, { readOnly: true });
  try {
    const why = findProblem(sql) ?? problemWithRunning(path, entries);
    if (why !== undefined) {
      const found = [`${basename(path)} is damaged: ${why}`];
      throw new StorageDamageError(found, { state: 'readable', committed }, [], entries);
    }
  } finally {
    sql.close();
  }
};

/** `quick_check` does not compare rows with indexes. */
const findProblem = (sql: DatabaseSync): string | undefined => {
  try {
    const [{ integrity_check: result } = {}] = sql.prepare('PRAGMA integrity_check(1)').all();
    return result === 'ok' ? undefined : String(result).split('\n').at(-1);
  } catch (error) {
    if (isDamaged(error)) return error.message;
    throw error;
  }
};

/** SQLITE_CORRUPT, SQLITE_CONSTRAINT and SQLITE_NOTADB. */
const UNRUNNABLE = [11, 19, 26];

const problemWithRunning = (path: string, entries: JournalEntry[]): string | undefined => {
  const sql = new DatabaseSync(path);
  try {
    sql.exec('PRAGMA cache_spill = OFF; BEGIN IMMEDIATE');
    for (const entry of entries) for (const [text, ...values] of decodeRuns(entry)) sql.prepare(text).run(...values);
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && UNRUNNABLE.includes(Number(error.errcode) & 0xff))
      return `the journal cannot be run again (${error.message})`;
    throw error;
  } finally {
    if (sql.isTransaction) sql.exec('ROLLBACK');
    sql.close();
  }
  return undefined;
};

export const followJournalPart = (
  { entries, mark }: JournalContent,
  { store, part, checksum }: Pick<Committed, 'store' | 'part' | 'checksum'>,
): JournalTail & { rest: JournalEntry[]; isDamaged: boolean } => {
  const own = entries.filter((entry) => entry.store === store && entry.part === part);
  const position = { ...FIRST_POSITION, store, part, checksum };
  const followed: JournalEntry[] = [];
  for (const entry of own) {
    if (entry.offset !== position.end || entry.previousChecksum !== position.checksum) break;
    followed.push(entry);
    position.end = entry.endOffset;
    position.checksum = entry.checksum;
    position.groups += 1;
    position.runs += decodeRuns(entry).length;
  }
  const rest = own.slice(followed.length);
  // A power failure may lose an unsynced entry before a later one, but never a synced one.
  const isMissed =
    rest.some(({ synced }) => synced > position.end) ||
    (mark?.store === store && mark.part === part && mark.synced > position.end);
  // A part starts only when everything before it is on disk.
  const isElsewhere = followed.length === 0 && rest[0]?.offset === FIRST_ENTRY_OFFSET;
  return { entries: followed, position, rest, isDamaged: isMissed || isElsewhere };
};

const readNamedJournal = (path: string): NamedJournalContent => ({ name: basename(path), ...readJournalFile(path) });

const inspectJournals = (
  path: string,
  database: DatabaseState,
  committed: Committed,
  journals: readonly [NamedJournalContent, NamedJournalContent],
): StorageInspection => {
  const { store, part } = committed;
  const found = journals.flatMap((journal) => checkJournal(journal, store));
  found.push(...findMisplaced(journals, store));
  found.push(...checkFileSize(path, committed), ...behindFile(path, committed), ...checkStoreId(path, store));
  const [current, next] = [getJournal(journals, store, part), getJournal(journals, store, part + 1)];
  const first = followJournalPart(current, committed);
  const second = followJournalPart(next, { ...first.position, part: part + 1 });
  const own = journals.flatMap(({ entries }) => entries).filter((entry) => entry.store === store);
  const highest = own.reduce((most, entry) => Math.max(most, entry.part), 0);
  if (highest > part + 1)
    found.push(`${basename(path)} is ${highest - part} commits behind its journal, as without its WAL`);
  else if (highest < part - 1) found.push(`the journal is ${part - 1 - highest} parts behind ${basename(path)}`);
  else if (first.isDamaged) found.push(describeGap(current.name, first));
  else if (second.isDamaged) {
    found.push(
      second.entries.length > 0
        ? describeGap(next.name, second)
        : describeGap(current.name, { ...first, rest: second.rest }),
    );
  }
  const continued = second.entries.length > 0 ? second : first;
  const entries = [...first.entries, ...second.entries];
  if (found.length > 0) {
    const behind = own.filter((entry) => entry.part >= part && !entries.some((known) => isSame(known, entry)));
    throw new StorageDamageError(found, database, entries, sortEntries(behind));
  }
  return { committed, entries, position: continued.position };
};

const checkJournal = ({ name, state, header, size }: NamedJournalContent, store: number): string[] => {
  if (state !== 'readable' || !header) return [`${name} is ${state}`];
  if (header.store !== store) return [`${name} is the journal of another folder`];
  return size < header.bytes ? [`${name} is cut to ${size} of ${header.bytes} bytes`] : [];
};

const holds = ({ entries }: JournalContent, isMeant: (entry: JournalEntry) => boolean): boolean =>
  entries.some(isMeant);

const getFileIndex = (part: number): 0 | 1 => (part % 2 === 0 ? 0 : 1);

const findMisplaced = (journals: readonly [NamedJournalContent, NamedJournalContent], store: number): string[] =>
  journals.flatMap((journal, at) =>
    holds(journal, (entry) => entry.store === store && getFileIndex(entry.part) !== at)
      ? [`${journal.name} holds parts of ${journals[at === 0 ? 1 : 0].name}`]
      : [],
  );

const getJournal = (
  journals: readonly [NamedJournalContent, NamedJournalContent],
  store: number,
  part: number,
): NamedJournalContent =>
  journals.find((journal) => holds(journal, (entry) => entry.store === store && entry.part === part)) ??
  journals[getFileIndex(part)];

const describeGap = (name: string, { position, rest }: { position: JournalPosition; rest: JournalEntry[] }): string => {
  const after = rest.find(({ offset }) => offset > position.end);
  const lost = after && after.part === position.part ? ` (${after.sequence - position.groups} groups)` : '';
  return `${name} is damaged from byte ${position.end} to ${after ? after.offset : 'its end'}${lost}`;
};

/** One file may have been copied over the other. */
const sortEntries = (entries: JournalEntry[]): JournalEntry[] =>
  entries
    .toSorted((a, b) => a.part - b.part || a.offset - b.offset)
    .filter((entry, at, all) => !isSame(entry, all[at - 1]));

const isSame = (one: JournalEntry, other: JournalEntry | undefined): boolean =>
  one.part === other?.part && one.offset === other.offset && one.checksum === other.checksum;

/** Without a store id, the store with the most entries wins. */
const pickLargestStore = (journals: readonly JournalContent[]): JournalEntry[] => {
  const byStore = Map.groupBy(
    journals.flatMap(({ entries }) => entries),
    ({ store }) => store,
  );
  return sortEntries([...byStore.values()].toSorted((a, b) => b.length - a.length)[0] ?? []);
};

const listStoreTraces = (path: string, entries: number): string[] => {
  const folder = dirname(path);
  const traces = existsSync(folder)
    ? readdirSync(folder).filter((name) => [STORE_ID_FILE, 'blobs'].includes(name))
    : [];
  if (entries > 0) traces.push('a journal');
  if (!existsSync(path) && getFileSize(`${path}-wal`) > 0) traces.push('a WAL');
  return traces;
};

const describeDatabase = (path: string, database: DatabaseState, traces: string[]): string => {
  const name = basename(path);
  if (database.state === 'of another folder') return `${name} is the database of another folder`;
  if (database.state === 'of another store') return `${name}-wal is the WAL of another folder`;
  if (database.state === 'unreadable') return `${name} is unreadable (${database.why})`;
  return `${name} is ${database.state} beside ${traces.join(', ')}`;
};

const isStranger = (path: string, journals: readonly JournalContent[]): boolean => {
  const id = readStoreId(path);
  const headers = journals.flatMap(({ header }) => header ?? []);
  if (id === undefined || headers.length === 0 || headers.some(({ store }) => store !== id)) return false;
  const named = storeInHead(path);
  return named !== undefined && named !== id && readAlone(path)?.store !== id;
};

const WAL_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;

const checkFileSize = (path: string, { pages, pageBytes }: Committed): string[] => {
  const bytes = getFileSize(path);
  const inWal = Math.max(0, Math.floor((getFileSize(`${path}-wal`) - WAL_HEAD_BYTES) / (pageBytes + FRAME_HEAD_BYTES)));
  return pages - Math.floor(bytes / pageBytes) > inWal
    ? [`${basename(path)} is cut to ${bytes} of ${pages * pageBytes} bytes`]
    : [];
};

/** SQLite syncs the WAL before a checkpoint, so a WAL older than the file has lost its end. */
const behindFile = (path: string, { store, part }: Committed): string[] => {
  const alone = readAlone(path);
  return alone && alone.store === store && alone.part > part
    ? [`${basename(path)}-wal is damaged, ${alone.part - part} commits behind ${basename(path)}`]
    : [];
};

const checkStoreId = (path: string, store: number): string[] =>
  (readStoreId(path) ?? store) === store ? [] : [`${basename(path)} is the database of another folder`];

/** A crash may leave it half written. */
export const readStoreId = (path: string): number | undefined => {
  const file = join(dirname(path), STORE_ID_FILE);
  const [, id] = /^(\d+)\n$/.exec(existsSync(file) ? readFileSync(file, 'utf8') : '') ?? [];
  return id === undefined ? undefined : Number(id);
};

const getFileSize = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
