import { ParleyError } from '../../kernel/errors.ts';
import { isObject, type JsonObject } from '../../kernel/json/json.ts';
import { parseTrace, type Trace } from '../../kernel/trace.ts';
import type { SignedContent } from '../../model/command.ts';

/** Headers of NATS and of HTTP are the same in any case. */
const DEPTH_HEADER = 'cg-recursion-depth';

export type CommonGroundHeaders = Readonly<Record<string, unknown>>;

/** One is read, and perhaps another was signed: what the protocol gives a meaning must have one. */
export const assertConsistentHeaders = (headers: CommonGroundHeaders): void => {
  const names = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const other = names.get(lower);
    names.set(lower, name);
    const isKnown = lower.startsWith(HEADER_PREFIX) || lower === 'traceparent' || lower === 'tracestate';
    if (!isKnown || other === undefined || String(headers[other]) === String(value)) continue;
    throw new ParleyError('protocol_violation', `The headers ${other} and ${name} disagree. Give it once.`, {
      details: { violated: `headers.${other}` },
      issues: [{ path: `headers.${name}`, message: `disagrees with ${other}` }],
    });
  }
};

export const findHeader = (headers: CommonGroundHeaders, name: string): unknown =>
  Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];

/** Who sent it, for whoever brings the messages of others. */
export const getSenderHeader = (headers: CommonGroundHeaders): string | undefined => {
  const sender = findHeader(headers, 'cg-sender');
  return typeof sender === 'string' && sender !== '' ? sender : undefined;
};

const HEADER_PREFIX = 'cg-';
export const SIGNATURE_HEADER = 'cg-signature';

/**
 * What a signature covers, with the signature beside it, and when it was made: the subject, the payload, and the protocol's own
 * headers, by their names in lower case and as text. The trace changes on the way, and is not covered.
 */
export const buildSignedContent = (
  subject: string,
  headers: CommonGroundHeaders,
  payload: JsonObject,
): SignedContent => {
  const texts = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), String(value)]);
  const { [SIGNATURE_HEADER]: signature, ...own } = Object.fromEntries(
    texts.filter(([name]) => name.startsWith(HEADER_PREFIX)),
  );
  return { message: { subject, headers: own, payload, signature }, at: parseTimestamp(own['cg-timestamp']) };
};

/** Python writes milliseconds since 1970, other senders ISO 8601. */
const parseTimestamp = (said = ''): number => (/^\d{12,14}$/.test(said) ? Number(said) : Date.parse(said));

/** The trace that a message's own headers name, if one can be read. */
export const parseTraceHeaders = (headers: CommonGroundHeaders): Trace | undefined => {
  const [traceparent, tracestate, baggage] = ['traceparent', 'tracestate', 'baggage'].map((name) => {
    const said = findHeader(headers, name);
    return typeof said === 'string' ? said : undefined;
  });
  if (traceparent === undefined) return undefined;
  const trace = parseTrace(traceparent, tracestate, baggage);
  return trace.traceparent === traceparent ? trace : undefined;
};

const MAX_DEPTH_LENGTH = 64;

/** A depth of any type and length as a text, so that one which is none is refused as a depth, not as a header. */
export const withDepthAsText = (message: JsonObject): JsonObject => {
  if (!isObject(message.headers)) return message;
  const headers = Object.entries(message.headers).map(([name, value]) =>
    name.toLowerCase() === DEPTH_HEADER && (value ?? undefined) !== undefined
      ? [name, (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, MAX_DEPTH_LENGTH)]
      : [name, value],
  );
  return { ...message, headers: Object.fromEntries(headers) };
};

/** How deep in a chain of calls; undefined where it is not said. What is said must be an integer that is not negative. */
export const parseDepthHeader = (headers: CommonGroundHeaders): number | undefined => {
  const said = findHeader(headers, DEPTH_HEADER);
  if (said === undefined || said === '') return undefined;
  if (/^\d{1,9}$/.test(String(said))) return Number(said);
  throw new ParleyError('protocol_violation', 'CG-Recursion-Depth must be an integer that is not negative.', {
    details: { violated: 'CG-Recursion-Depth' },
    issues: [{ path: 'headers.CG-Recursion-Depth', message: 'must be an integer that is not negative' }],
  });
};

/** The same where it may stand in the body too: what is said twice must agree. */
export const parseDepth = (headers: CommonGroundHeaders, inBody: unknown): number | undefined => {
  const inHeader = parseDepthHeader(headers);
  if ((inBody ?? undefined) === undefined) return inHeader;
  if (typeof inBody !== 'number' || !Number.isSafeInteger(inBody) || inBody < 0) {
    throw new ParleyError('protocol_violation', 'recursion_depth must be an integer that is not negative.', {
      details: { violated: 'recursion_depth' },
      issues: [{ path: 'recursion_depth', message: 'must be an integer that is not negative' }],
    });
  }
  if (inHeader === undefined || inHeader === inBody) return inBody;
  throw new ParleyError('protocol_violation', `CG-Recursion-Depth is ${inHeader}, but recursion_depth is ${inBody}.`, {
    details: { violated: 'recursion_depth' },
  });
};

/** The same for a call: one that is refused for its depth is told as a turn that failed, once it is known whose. */
export const parseCallDepth = (headers: CommonGroundHeaders, inBody: unknown): number | ParleyError | undefined => {
  try {
    return parseDepth(headers, inBody);
  } catch (error) {
    if (error instanceof ParleyError) return error;
    throw error;
  }
};

/** The same where the protocol asks for it. */
export const getRequiredDepth = (depth: number | undefined): number => {
  if (depth !== undefined) return depth;
  throw new ParleyError(
    'protocol_violation',
    'CG-Recursion-Depth is missing: say how deep the turn is, as a header, or over HTTP also as "recursion_depth".',
    {
      details: { violated: 'CG-Recursion-Depth' },
      issues: [{ path: 'headers.CG-Recursion-Depth', message: 'is missing' }],
    },
  );
};

/** Keys of a payload that look like headers. They are let through, and warned of. */
export const listHeaderLikeKeys = (payload: JsonObject): string[] => Object.keys(payload).filter(isHeaderLike);

export const omitHeaderLikeKeys = (payload: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(payload).filter(([key]) => !isHeaderLike(key)));

const isHeaderLike = (key: string): boolean => key.toLowerCase().startsWith(HEADER_PREFIX);
