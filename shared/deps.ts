import type { Directory } from './agents/directory.ts';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import type { RecordMetric } from './metrics.ts';
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

/** Of a relay in this process: it carries messages, or waits for its NATS server. */
export type NatsState = 'connected' | 'waiting';

/** What the domain is given. */
export interface Deps extends Ports {
  clock: Clock;
  config: Config;
  directory: Directory;
  log: Log;
  measure: RecordMetric;
  newId: () => string;
  /** Absent where relays are elsewhere; undefined while there is none. */
  natsState?: () => NatsState | undefined;
}
