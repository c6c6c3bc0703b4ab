import type { Directory } from './agents/directory.ts';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import type { Measure } from './measure.ts';
import type { Blobs } from './ports/blobs.ts';
import type { Clock } from './ports/clock.ts';
import type { Events } from './ports/events.ts';
import type { Queues } from './ports/queues.ts';
import type { Records } from './ports/records.ts';

/** An engine, as the domain sees it. */
export interface Ports {
  records: Records;
  queues: Queues;
  events: Events;
  blobs: Blobs;
}

/** What the domain is given. */
export interface Deps extends Ports {
  clock: Clock;
  config: Config;
  directory: Directory;
  log: Log;
  measure: Measure;
  newId: () => string;
}
