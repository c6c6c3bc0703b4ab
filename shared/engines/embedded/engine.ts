import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Ports } from '../../deps.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Followers } from '../../ports/followers.ts';
import { BlobSweep } from './blob-sweep.ts';
import { blobsOn, fileBlobs } from './blobs.ts';
import { ChangeFeed } from './change-feed.ts';
import { Database } from './database.ts';
import { EventStore, eventsOn } from './events.ts';
import { QueueStore, queuesOn } from './queues.ts';
import { type Care, RecordStore, recordsOn } from './records.ts';
import { Rows } from './rows.ts';
import { Timers } from './timers.ts';

export interface EngineOptions {
  dir: string;
  clock: Clock;
  log: Log;
  newId: () => string;
  /** The sort keys of the records whose changes are followed. */
  watched: Iterable<string>;
  eventsKeepMs: number;
  /** Called once, when the disk no longer takes what is written. */
  onFailure?: (error: unknown) => void;
}

/** All ports on one SQLite file and a folder, for one process. */
export interface EmbeddedEngine {
  ports: Ports;
  /** The same for writes that follow from others and would be repeated should they be lost: nobody waits for them. */
  derived: Ports;
  start(followers: Followers): void;
  stop(): Promise<void>;
}

export const openEngine = (options: EngineOptions): EmbeddedEngine => {
  const { dir, clock, log } = options;
  mkdirSync(dir, { recursive: true });
  const db = new Database(join(dir, 'parley.db'));
  db.onFailure = options.onFailure ?? (() => {});
  const rows = new Rows(db);
  const feed = new ChangeFeed(db, rows, clock, log, options.watched);
  const records = new RecordStore(db, rows, clock, feed);
  const queues = new QueueStore(db, clock);
  const events = new EventStore(db, clock, options.eventsKeepMs);
  const timers = new Timers(db, records, events, clock, log);
  const blobs = fileBlobs(join(dir, 'blobs'), {
    now: () => clock.now(),
    newId: options.newId,
    failed: (error) => db.fail(error),
  });
  const blobSweep = new BlobSweep(db, blobs, clock, log);
  const portsWith = (care: Care): Ports => ({
    records: recordsOn(db, records, feed, care),
    queues: queuesOn(db, queues, clock, care),
    events: eventsOn(db, events, care),
    blobs: blobsOn(db, blobs, care),
  });
  return {
    ports: portsWith('durable'),
    derived: portsWith('soon'),
    start: (followers) => {
      feed.start(followers.changes);
      timers.start(followers.due);
      blobSweep.start();
    },
    stop: async () => {
      await Promise.all([feed.stop(), timers.stop(), blobSweep.stop()]);
      await db.close();
    },
  };
};
