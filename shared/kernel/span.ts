import { hash } from 'node:crypto';
import { parseTraceIds, type Trace } from './trace.ts';

/** A span of OpenTelemetry. Its ids follow from records, so that one that is exported twice is the same span. */
export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string | undefined;
  tracestate?: string | undefined;
  name: string;
  kind: SpanKind;
  /** Epoch milliseconds. */
  start: number;
  end: number;
  attributes: Record<string, string | number | undefined>;
  /** Set if it failed. */
  error?: string | undefined;
}

/** As OTLP numbers them. */
export const SPAN_KINDS = { client: 3, producer: 4, consumer: 5 } as const;
type SpanKind = keyof typeof SPAN_KINDS;

export interface SpanSink {
  /** Never throws, never waits. */
  add(spans: readonly Span[]): void;
}

/** The requester's flag says whether anybody keeps the trace. */
export const isSampled = ({ traceparent }: Pick<Trace, 'traceparent'>): boolean =>
  (Number.parseInt(traceparent.slice(-2), 16) & 1) === 1;

export const deriveSpanId = (name: string): string => hash('sha256', name, 'hex').slice(0, 16);

export const getSpanContext = ({ traceparent, tracestate }: Trace) => ({ ...parseTraceIds(traceparent), tracestate });
