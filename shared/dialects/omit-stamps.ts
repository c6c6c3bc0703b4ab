import type { JsonObject } from '../kernel/json/json.ts';

/** Without what a sender writes anew each time that it sends a message: a repetition is known by its id and all else. */
export const omitStamps = ({
  timestamp: _timestamp,
  retryCount: _retryCount,
  traceparent: _traceparent,
  tracestate: _tracestate,
  baggage: _baggage,
  observability: _observability,
  ...rest
}: JsonObject): JsonObject => rest;
