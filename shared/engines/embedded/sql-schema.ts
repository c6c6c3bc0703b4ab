/** The first format that is kept: a file of an earlier one is refused. A new file has 0. */
export const FIRST_FORMAT = 6;

interface MigrationStep {
  sql?: string;
  /** The kinds of records of which some are stored in an earlier form: `RecordMigration` knows both. */
  kinds?: readonly string[];
}

/** Each leads to the next format. A step that was released stays as it is. */
export const MIGRATION_STEPS: readonly MigrationStep[] = [
  // 7: a history entry has `taskCreatedAt` instead of `cycle`.
  { kinds: ['history'] },
  // 8: lists have a table. It is filled from the records, at every migration.
  {
    sql: `
CREATE TABLE listed (
  id INTEGER PRIMARY KEY, scope TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER, status TEXT NOT NULL,
  type TEXT, requester TEXT, addressee TEXT, holder TEXT, domain TEXT, conversation TEXT, error TEXT);
CREATE INDEX listed_created ON listed (scope, created);
CREATE INDEX listed_status ON listed (scope, status, created);
CREATE INDEX listed_type ON listed (scope, type, created) WHERE type IS NOT NULL;
CREATE INDEX listed_requester ON listed (scope, requester, created) WHERE requester IS NOT NULL;
CREATE INDEX listed_addressee ON listed (scope, addressee, created) WHERE addressee IS NOT NULL;
CREATE INDEX listed_holder ON listed (scope, holder, created) WHERE holder IS NOT NULL;
CREATE INDEX listed_domain ON listed (scope, domain, created) WHERE domain IS NOT NULL;
CREATE INDEX listed_conversation ON listed (scope, conversation, created) WHERE conversation IS NOT NULL;
CREATE INDEX listed_error ON listed (scope, error, created) WHERE error IS NOT NULL;
`,
  },
  // 9: events have an index of what they are about. Dead letters have a list of their own, which the migration fills.
  {
    sql: `
CREATE TABLE event_subjects (subject INTEGER NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (subject, block)) WITHOUT ROWID;
CREATE INDEX event_subjects_block ON event_subjects (block);
`,
  },
  // 10: tasks are listed by their last change without records of their own.
  { sql: "\nDELETE FROM records WHERE sk = 'listing';\n" },
];

/** What is written now. */
export const STORAGE_FORMAT = FIRST_FORMAT + MIGRATION_STEPS.length;

/** The tables of a format. */
export const buildSqlSchema = (format: number): string =>
  [FIRST_SCHEMA, ...MIGRATION_STEPS.slice(0, format - FIRST_FORMAT).map((step) => step.sql ?? '')].join('');

const FIRST_SCHEMA = `
CREATE TABLE journal (part INTEGER NOT NULL, checksum INTEGER NOT NULL, store INTEGER NOT NULL);
CREATE TABLE records (
  id INTEGER PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL,
  due INTEGER, expires INTEGER, by_list_pk TEXT, by_list_sk TEXT, by_holder_pk TEXT, by_holder_sk TEXT);
CREATE UNIQUE INDEX records_key ON records (pk, sk);
CREATE INDEX records_due ON records (due) WHERE due IS NOT NULL;
CREATE INDEX records_expires ON records (expires) WHERE expires IS NOT NULL;
CREATE INDEX records_by_list ON records (by_list_pk, by_list_sk) WHERE by_list_sk IS NOT NULL;
CREATE INDEX records_by_holder ON records (by_holder_pk, by_holder_sk) WHERE by_holder_sk IS NOT NULL;
CREATE TABLE changes (seq INTEGER PRIMARY KEY, batch TEXT NOT NULL);
CREATE TABLE parked_changes (seq INTEGER PRIMARY KEY, change TEXT NOT NULL, error TEXT NOT NULL);
CREATE TABLE messages (
  queue TEXT NOT NULL, seq INTEGER NOT NULL, grp TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (queue, seq)) WITHOUT ROWID;
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, at INTEGER NOT NULL,
  expires INTEGER NOT NULL, batch TEXT NOT NULL);
CREATE INDEX events_project ON events (project, seq);
INSERT INTO sqlite_sequence VALUES ('events', 0);
`;

/** The file was written by another version of Parley, and is left as it is. */
export class StorageFormatError extends Error {
  readonly writtenBy: 'a newer' | 'an older';

  constructor(format: number) {
    const by = format > STORAGE_FORMAT ? 'a newer' : 'an older';
    super(`was written by ${by} version of Parley (format ${format})`);
    this.writtenBy = by;
  }
}
