/** Names of the Message Routing protocol. */
export type MetricName = 'message_write_latency_ms' | 'message_read_latency_ms' | 'inbox_depth' | 'eviction_count';

/** One service for all functions that measure, so that one query finds the metrics. */
export const METRICS_SERVICE = 'messages';

export type RecordMetric = (measured: MetricName, value: number) => void;
