import { hash } from 'node:crypto';
import { randomText } from './ids.ts';

/** W3C trace context, as it travels in headers and is kept with a task. */
export interface Trace {
  traceparent: string;
  tracestate?: string;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The caller's trace, or a new one where it sent none that can be read. */
export const traceFrom = (traceparent: string | undefined, tracestate: string | undefined): Trace =>
  traceparent !== undefined && TRACEPARENT.test(traceparent)
    ? { traceparent, tracestate: tracestate?.slice(0, 512) }
    : { traceparent: `00-${randomText(16, 'hex')}-${randomText(8, 'hex')}-01` };

/** A trace and a span by their ids, where both are what OpenTelemetry makes. */
export const traceOf = (traceId: string | undefined, spanId: string | undefined): Trace | undefined => {
  const traceparent = `00-${traceId}-${spanId}-01`;
  return TRACEPARENT.test(traceparent) ? { traceparent } : undefined;
};

export const idsOf = (traceparent: string): { traceId: string; spanId: string } => ({
  traceId: traceparent.slice(TRACE_AT, PARENT_AT - 1),
  spanId: traceparent.slice(PARENT_AT, PARENT_AT + 16),
});

/** The same trace, one span further down. */
export const childOf = ({ traceparent, tracestate }: Trace): Trace => ({
  traceparent: `${traceparent.slice(0, PARENT_AT)}${randomText(8, 'hex')}${traceparent.slice(PARENT_AT + 16)}`,
  tracestate,
});

/** The same for what is made anew whenever it is told: the span follows from its name. */
export const childNamed = ({ traceparent, tracestate }: Trace, name: string): Trace => ({
  traceparent: `${traceparent.slice(0, PARENT_AT)}${hash('sha256', name, 'hex').slice(0, 16)}${traceparent.slice(PARENT_AT + 16)}`,
  tracestate,
});

/** Behind `00-`, the trace id and a dash. */
const PARENT_AT = 36;
const TRACE_AT = 3;
