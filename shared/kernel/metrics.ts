/** What the message routing protocol asks to be watched, by its own names: milliseconds, and numbers of messages. */
export type MetricName = 'message_write_latency_ms' | 'message_read_latency_ms' | 'inbox_depth' | 'eviction_count';

/** By which these are found, whichever function measured them: messages come with claims and from timers, too. */
export const METRICS_SERVICE = 'messages';

/** Takes a measurement down, for whoever watches the system. */
export type RecordMetric = (measured: MetricName, value: number) => void;
