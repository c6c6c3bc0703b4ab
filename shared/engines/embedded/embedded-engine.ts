import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../kernel/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EngineHandlers } from '../../ports/engine-handlers.ts';
import type { ListedKinds } from '../../ports/lists.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Fairness } from '../../ports/queues.ts';
import type { RecordMigrations } from '../../ports/record-migration.ts';
import { type BackupReport, BLOB_FOLDER, backUpStorage, DATABASE_FILE } from './back-up.ts';
import { BlobSweeper } from './blob-sweeper.ts';
import { ChangeFeed } from './change-feed.ts';
import { Database, storageFullError } from './database.ts';
import { createEmbeddedBlobs, createFileBlobs } from './file-blobs.ts';
import { ListTable } from './list-table.ts';
import { isNoSpaceError } from './no-space-error.ts';
import { RecordTable } from './record-table.ts';
import type { SalvageReport } from './salvage-storage.ts';
import { createSqliteEvents, EventStore } from './sqlite-events.ts';
import { createSqliteQueues, QueueStore } from './sqlite-queues.ts';
import { createSqliteRecords, type Durability, RecordStore } from './sqlite-records.ts';
import { TimerLoop } from './timer-loop.ts';

interface EmbeddedEngineOptions {
  dir: string;
  clock: Clock;
  log: Log;
  newId: () => string;
  /** The sort keys of the records whose changes are followed. */
  kinds: Iterable<string>;
  /** For a storage of an earlier format. */
  migrations?: RecordMigrations;
  /** The kinds of records that are listed. */
  lists?: ListedKinds;
  eventRetentionMs: number;
  /** Who has turns in a queue that several share: requesters, unless it is said. */
  fairness?: Fairness;
  /** Called once, when the storage fails and nothing more can be done with it. */
  onFailure?: (error: unknown) => void;
  /** Goes on with what can be read of a damaged storage, instead of throwing `StorageDamageError`. */
  acceptDamage?: boolean;
}

/** All ports on one SQLite file and a folder, for one process. */
export interface EmbeddedEngine {
  ports: Ports;
  /** The same for writes that follow from others and would be repeated should they be lost: nobody waits for them. */
  effectPorts: Ports;
  start(handlers: EngineHandlers): void;
  /** Copies the storage into a new folder, while all goes on. One at a time. */
  backUp(folder: string): Promise<BackupReport>;
  stop(): Promise<void>;
}

export const openEmbeddedEngine = (options: EmbeddedEngineOptions): EmbeddedEngine => {
  const { dir, clock, log } = options;
  mkdirSync(dir, { recursive: true });
  const logAcceptedDamage = (salvaged: SalvageReport): void => log('warn', 'storage damage accepted', { ...salvaged });
  const db = new Database(join(dir, DATABASE_FILE), {
    acceptDamage: options.acceptDamage ? logAcceptedDamage : undefined,
    migrations: options.migrations,
    lists: options.lists,
    onMigrated: (report) => log('info', 'storage migrated', { ...report }),
  });
  db.onFailure = options.onFailure ?? (() => {});
  const logCapacityChange = (hasRoom: boolean): void => {
    if (hasRoom) log('info', 'disk has space again', { dir });
    else log('error', 'disk full, writes rejected', { dir });
  };
  const rows = new RecordTable(db);
  const feed = new ChangeFeed(db, rows, clock, log, options.kinds);
  db.onCapacityChange = (hasRoom) => {
    logCapacityChange(hasRoom);
    if (hasRoom) feed.backPressure.admit();
    else feed.backPressure.refuse(storageFullError());
  };
  const records = new RecordStore(db, rows, new ListTable(db, options.lists ?? {}), clock, feed);
  const queues = new QueueStore(db, clock, options.fairness);
  const events = new EventStore(db, clock, options.eventRetentionMs);
  const timers = new TimerLoop(db, records, events, clock, log);
  const blobs = createFileBlobs(join(dir, BLOB_FOLDER), {
    now: () => clock.now(),
    newId: options.newId,
    toError: (error) => (isNoSpaceError(error) ? storageFullError() : db.recordFailure(error)),
    onCapacityChange: logCapacityChange,
    log,
  });
  const blobSweep = new BlobSweeper(db, blobs, clock, log);
  const createPorts = (durability: Durability): Ports => ({
    records: createSqliteRecords(db, records, feed, durability),
    queues: createSqliteQueues(db, queues, clock, durability),
    events: createSqliteEvents(db, events, durability),
    blobs: createEmbeddedBlobs(db, blobs, durability),
  });
  return {
    ports: createPorts('durable'),
    effectPorts: createPorts('soon'),
    start: (handlers) => {
      feed.start(handlers.onChanges);
      timers.start(handlers.onTimer);
      blobSweep.start();
    },
    backUp: (folder) =>
      backUpStorage(
        { dir, holdCheckpoints: () => db.holdCheckpoints(), holdDeletes: () => blobs.holdDeletes() },
        folder,
      ),
    stop: async () => {
      await Promise.all([feed.stop(), timers.stop(), blobSweep.stop()]);
      await db.close();
    },
  };
};
