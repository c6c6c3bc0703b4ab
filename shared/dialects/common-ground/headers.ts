import { ParleyError } from '../../kernel/errors.ts';
import { toIso } from '../../kernel/json/iso-time.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { parseTrace, type Trace } from '../../kernel/trace.ts';
import type { SignedContent } from '../../model/command.ts';
import { COMMON_GROUND_VERSION } from './subject.ts';

/** Headers of NATS and of HTTP are the same in any case. */
const DEPTH_HEADER = 'cg-recursion-depth';

export type CommonGroundHeaders = Readonly<Record<string, unknown>>;

/** What Parley puts beside a message of its own. */
export const buildHeaders = (of: Trace & { at: number; type: string; sender: string; depth: number }): JsonObject => ({
  traceparent: of.traceparent,
  tracestate: of.tracestate,
  baggage: of.baggage,
  'CG-Timestamp': toIso(of.at),
  'CG-Version': COMMON_GROUND_VERSION,
  'CG-Msg-Type': of.type,
  'CG-Sender': of.sender,
  'CG-Recursion-Depth': String(of.depth),
});

/** Who sent it is whose key it came with, whatever it says: whoever it reaches must be able to rely on that. */
export const withSender = (headers: CommonGroundHeaders, sender: string): CommonGroundHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name.toLowerCase() === 'cg-sender' ? sender : value]),
  );

/** What a sender left out, and only that. */
export const fillMissingHeaders = (
  headers: CommonGroundHeaders,
  missing: { at: number; type: string; sender: string; depth: number },
  trace: Trace,
  within: JsonObject = {},
): JsonObject => {
  const own = parseTraceHeaders(headers) ?? trace;
  const { at, type, sender, depth } = missing;
  const filled: [string, Json | undefined][] = [
    ...Object.entries(within),
    ['traceparent', own.traceparent],
    ['tracestate', own.tracestate],
    ['baggage', own.baggage],
    ['CG-Timestamp', toIso(at)],
    ['CG-Version', COMMON_GROUND_VERSION],
    ['CG-Msg-Type', type],
    ['CG-Sender', sender],
    ['CG-Recursion-Depth', String(depth)],
  ];
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [],
  );
  const names = new Set(given.filter(([, value]) => value !== '').map(([name]) => name.toLowerCase()));
  return Object.fromEntries([
    ...given.filter(([, value]) => value !== ''),
    ...filled.filter(([name, value]) => value !== undefined && !names.has(name.toLowerCase())),
  ]);
};

/** The headers of a message that is given on, with a trace of Parley's own in place of whatever stood there. */
export const withTrace = (headers: JsonObject, traceparent: string): JsonObject => ({
  ...Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'traceparent')),
  traceparent,
});

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

const findHeader = (headers: CommonGroundHeaders, name: string): unknown =>
  Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];

/** Who a call is made for, and what it belongs to: the user and the conversation of other protocols. */
export const USER_HEADER = 'CG-User-ID';
export const CONTEXT_HEADER = 'CG-Context-ID';
const EXTENSION_HEADERS = [USER_HEADER, 'CG-Channel-ID', CONTEXT_HEADER];
const MAX_EXTENSION_LENGTH = 1024;
const MAX_LABEL_LENGTH = 256;

/** As the user or the conversation of a task. */
export const toLabel = (said: unknown): string | undefined =>
  typeof said === 'string' && said !== '' ? said.slice(0, MAX_LABEL_LENGTH) : undefined;

/** The user and the conversation of a task, as headers of the turn that works on it. */
export const buildExtensionHeaders = ({
  user,
  conversation,
}: {
  user?: string;
  conversation?: string;
}): JsonObject | undefined =>
  user === undefined && conversation === undefined
    ? undefined
    : { [USER_HEADER]: user, [CONTEXT_HEADER]: conversation };

/** What the protocol names and gives no meaning to: a call carries it to its worker. */
export const pickExtensionHeaders = (headers: CommonGroundHeaders): JsonObject | undefined => {
  const said = EXTENSION_HEADERS.map((name): [string, unknown] => [name, findHeader(headers, name.toLowerCase())]);
  const texts = said.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value).slice(0, MAX_EXTENSION_LENGTH)]],
  );
  return texts.length > 0 ? Object.fromEntries(texts) : undefined;
};

/** The user and the context that a command names, or else those of the turn that gives it: each of them alone. */
export const pickContextHeaders = (
  headers: CommonGroundHeaders,
  turn: JsonObject | undefined,
): JsonObject | undefined => {
  const said = { ...turn, ...pickExtensionHeaders(headers) };
  const known = [USER_HEADER, CONTEXT_HEADER].filter((name) => typeof said[name] === 'string');
  return known.length > 0 ? Object.fromEntries(known.map((name) => [name, said[name]])) : undefined;
};

/** Who sent it, for whoever brings the messages of others. */
export const getSenderHeader = (headers: CommonGroundHeaders): string | undefined => {
  const sender = findHeader(headers, 'cg-sender');
  return typeof sender === 'string' && sender !== '' ? sender : undefined;
};

const HEADER_PREFIX = 'cg-';
const SIGNATURE_HEADER = 'cg-signature';

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
  return { message: { subject, headers: own, payload, signature }, at: Date.parse(own['cg-timestamp'] ?? '') };
};

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
    name.toLowerCase() === DEPTH_HEADER && value !== undefined
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
  if (inBody === undefined) return inHeader;
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
export const listHeaderLikeKeys = (payload: JsonObject): string[] =>
  Object.keys(payload).filter((key) => key.toLowerCase().startsWith(HEADER_PREFIX));
