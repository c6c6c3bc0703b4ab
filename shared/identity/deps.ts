import type { Config } from '../config/config.ts';
import type { Log } from '../kernel/log.ts';
import type { RecordMetric } from '../kernel/metrics.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ports } from '../ports/ports.ts';
import type { Directory } from './agents/directory.ts';

/** Of a relay in this process: it carries messages, or waits for its NATS server. */
export type NatsState = 'connected' | 'waiting';

/** What the domain is given. */
export interface Deps extends Ports {
  clock: Clock;
  config: Config;
  directory: Directory;
  log: Log;
  recordMetric: RecordMetric;
  newId: () => string;
  /** Absent where relays are elsewhere; undefined while there is none. */
  natsState?: () => NatsState | undefined;
}
