import type { Config } from '../config/config.ts';
import type { Log } from '../kernel/log.ts';
import type { MetricRegistry } from '../kernel/metric-registry.ts';
import type { RecordMetric } from '../kernel/metrics.ts';
import type { Clock } from '../ports/clock.ts';
import type { HttpSender } from '../ports/http-sender.ts';
import type { Ports } from '../ports/ports.ts';
import type { Directory } from './agents/directory.ts';

export type NatsState = 'connected' | 'waiting';

export interface Deps extends Ports {
  clock: Clock;
  config: Config;
  directory: Directory;
  log: Log;
  recordMetric: RecordMetric;
  /** Absent where metrics are read elsewhere. */
  metrics?: MetricRegistry;
  newId: () => string;
  httpSender: HttpSender;
  /** Goes on with long work beside that which is awaited; absent where nothing runs after a call. */
  background?: (work: (signal: AbortSignal) => Promise<void>) => void;
  /** Absent if relays run elsewhere; returns undefined without a relay. */
  natsState?: () => NatsState | undefined;
  /** Whether `/console/` is served beside the API. */
  hasConsole?: boolean | undefined;
}
