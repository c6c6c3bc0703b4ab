import { hash } from 'node:crypto';
import { parseBaggage } from './baggage.ts';
import { generateRandomText } from './ids.ts';

export interface Trace {
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  isGenerated?: true;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Starts a new trace if the header is missing or invalid. */
export const parseTrace = (traceparent: string | undefined, tracestate?: string, baggage?: string): Trace =>
  traceparent !== undefined && TRACEPARENT.test(traceparent)
    ? { traceparent, tracestate: parseTraceState(tracestate), baggage: parseBaggage(baggage) }
    : {
        traceparent: `00-${generateRandomText(16, 'hex')}-${generateRandomText(8, 'hex')}-01`,
        baggage: parseBaggage(baggage),
        isGenerated: true,
      };

const MAX_STATE_LENGTH = 512;
const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

/** W3C: an invalid `tracestate` is dropped as a whole. */
const parseTraceState = (tracestate: string | undefined): string | undefined => {
  const members = (tracestate ?? '').split(',').map((member) => member.trim());
  const given = members.filter((member) => member !== '');
  if (!given.every((member) => STATE_MEMBER.test(member))) return undefined;
  let kept = given.slice(0, 32);
  while (kept.join(',').length > MAX_STATE_LENGTH) kept = kept.slice(0, -1);
  return kept.length === 0 ? undefined : kept.join(',');
};

export const pickCallTrace = (trace: Trace): Trace => ({ ...pickTraceFields(trace), isGenerated: trace.isGenerated });

export const pickTraceFields = ({ traceparent, tracestate, baggage }: Trace): Trace => ({
  traceparent,
  tracestate,
  baggage,
});

export const inheritTrace = (trace: Trace, parent: Trace | undefined): Trace => ({
  ...pickTraceFields(trace.isGenerated && parent ? parent : trace),
  baggage: trace.baggage ?? parent?.baggage,
});

export const buildTrace = (traceId: string | undefined, spanId: string | undefined): Trace | undefined => {
  const traceparent = `00-${traceId}-${spanId}-01`;
  return TRACEPARENT.test(traceparent) ? { traceparent } : undefined;
};

export const parseTraceIds = (traceparent: string): { traceId: string; spanId: string } => ({
  traceId: traceparent.slice(TRACE_ID_OFFSET, SPAN_ID_OFFSET - 1),
  spanId: traceparent.slice(SPAN_ID_OFFSET, SPAN_ID_OFFSET + 16),
});

export const createChildSpan = ({ traceparent, tracestate, baggage }: Trace): Trace => ({
  traceparent: `${traceparent.slice(0, SPAN_ID_OFFSET)}${generateRandomText(8, 'hex')}${traceparent.slice(SPAN_ID_OFFSET + 16)}`,
  tracestate,
  baggage,
});

/**
 * The span id is derived from the name, so that a repeated message has the same one. Without baggage, which is for
 * workers only.
 */
export const deriveChildSpan = ({ traceparent, tracestate }: Trace, name: string): Trace => ({
  traceparent: `${traceparent.slice(0, SPAN_ID_OFFSET)}${hash('sha256', name, 'hex').slice(0, 16)}${traceparent.slice(SPAN_ID_OFFSET + 16)}`,
  tracestate,
});

/** After `00-`, 32 digits and a dash. */
const SPAN_ID_OFFSET = 36;
const TRACE_ID_OFFSET = 3;
