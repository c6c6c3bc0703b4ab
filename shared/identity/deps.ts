import type { Config } from '../config/config.ts';
import type { Log } from '../kernel/log.ts';
import type { MetricRegistry } from '../kernel/metric-registry.ts';
import type { RecordMetric } from '../kernel/metrics.ts';
import type { SpanSink } from '../kernel/span.ts';
import type { Clock } from '../ports/clock.ts';
import type { HttpSender } from '../ports/http-sender.ts';
import type { Ports } from '../ports/ports.ts';
import type { Directory } from './agents/directory.ts';

export type NatsState = 'connected' | 'waiting';

/** Where calls may create projects. */
export interface CreatedProjects {
  isConfigured(name: string): boolean;
  /** Call it after a change. */
  reload(): Promise<void>;
}

export interface Deps extends Ports {
  clock: Clock;
  /** With the projects that calls created. */
  config: Config;
  /** Absent where the configuration alone has the projects. */
  projects?: CreatedProjects;
  directory: Directory;
  log: Log;
  recordMetric: RecordMetric;
  /** Absent where metrics are read elsewhere. */
  metrics?: MetricRegistry;
  /** Set where the engine lists tasks by their last change from the tasks themselves. */
  derivesListings?: true;
  /** Absent where no spans are exported. */
  spans?: SpanSink | undefined;
  newId: () => string;
  httpSender: HttpSender;
  /** Goes on with long work beside that which is awaited; absent where nothing runs after a call. */
  background?: (work: (signal: AbortSignal) => Promise<void>) => void;
  /** Absent if relays run elsewhere; returns undefined without a relay. */
  natsState?: () => NatsState | undefined;
  /** Whether `/console/` is served beside the API. */
  hasConsole?: boolean | undefined;
}
