import { hash } from 'node:crypto';
import { generateRandomText } from './ids.ts';
import type { JsonObject } from './json/json.ts';

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

/** As W3C Trace Context has it. */
export const toTraceHeaders = ({ traceparent, tracestate, baggage }: Trace): Record<string, string> => ({
  traceparent,
  ...(tracestate !== undefined && { tracestate }),
  ...(baggage !== undefined && { baggage }),
});

export const inheritTrace = (trace: Trace, parent: Trace | undefined): Trace => ({
  ...pickTraceFields(trace.isGenerated && parent ? parent : trace),
  baggage: trace.baggage ?? parent?.baggage,
});

/** The span that a child of them has above it. A new trace has none. */
export const findParentSpan = (trace: Trace, parent?: Trace): string | undefined =>
  trace.isGenerated && !parent ? undefined : parseTraceIds(inheritTrace(trace, parent).traceparent).spanId;

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

/** W3C Baggage: the minimum that every participant must propagate. */
const MAX_MEMBERS = 64;
const MAX_BYTES = 8192;

const KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** W3C Baggage: printable ASCII without space, quote, comma, semicolon, backslash. */
const VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

/** Keeps the valid members that fit, with their properties. */
const parseBaggage = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : joinWithinLimits(header.split(',').flatMap((member) => parseMember(member) ?? []));

const parseMember = (text: string): string | undefined => {
  const [pair = '', ...properties] = text.split(';').map((part) => part.trim());
  const member = parsePair(pair, true);
  if (member === undefined) return undefined;
  return [member, ...properties.flatMap((property) => parsePair(property, false) ?? [])].join(';');
};

const parsePair = (text: string, needsValue: boolean): string | undefined => {
  const at = text.indexOf('=');
  if (at < 0) return needsValue || !KEY.test(text) ? undefined : text;
  const [key, value] = [text.slice(0, at).trimEnd(), text.slice(at + 1).trimStart()];
  return KEY.test(key) && VALUE.test(value) ? `${key}=${value}` : undefined;
};

const joinWithinLimits = (members: string[]): string | undefined => {
  const kept: string[] = [];
  let bytes = -1;
  for (const member of members) {
    if (kept.length === MAX_MEMBERS) break;
    if (bytes + 1 + member.length > MAX_BYTES) continue;
    bytes += 1 + member.length;
    kept.push(member);
  }
  return kept.length === 0 ? undefined : kept.join(',');
};

/** Non-string values become JSON. Names that no header can carry are left out. */
export const encodeBaggage = (members: JsonObject): string | undefined =>
  joinWithinLimits(
    Object.entries(members).flatMap(([key, value]) =>
      KEY.test(key) && value !== undefined
        ? `${key}=${encodeURIComponent(typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value))}`
        : [],
    ),
  );

/** Without properties. */
export const decodeBaggage = (baggage: string | undefined): Record<string, string> | undefined => {
  if (baggage === undefined) return undefined;
  const members = baggage.split(',').map((member): [string, string] => {
    const [pair = ''] = member.split(';');
    const at = pair.indexOf('=');
    return [pair.slice(0, at), decodeValue(pair.slice(at + 1))];
  });
  return Object.fromEntries(members);
};

/** Invalid percent-encoding stays as it is. */
const decodeValue = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
};

export const isLosslessBaggage = (baggage: string | undefined, members: JsonObject): boolean => {
  const decoded = decodeBaggage(baggage) ?? {};
  const entries = Object.entries(members);
  return entries.length === Object.keys(decoded).length && entries.every(([key, value]) => decoded[key] === value);
};
