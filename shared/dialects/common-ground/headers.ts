import { ParleyError } from '../../errors.ts';
import { iso } from '../../json/iso.ts';
import { isObject, type JsonObject } from '../../json/json.ts';
import type { Signed } from '../../messages/command.ts';
import { type Trace, traceFrom } from '../../trace.ts';
import { VERSION } from './subject.ts';

/** Headers of NATS and of HTTP are the same in any case. */
const DEPTH = 'cg-recursion-depth';

export type Headers = Readonly<Record<string, unknown>>;

/** What Parley puts beside a message of its own. */
export const inHeaders = (of: Trace & { at: number; type: string; sender: string; depth: number }): JsonObject => ({
  traceparent: of.traceparent,
  tracestate: of.tracestate,
  'CG-Timestamp': iso(of.at),
  'CG-Version': VERSION,
  'CG-Msg-Type': of.type,
  'CG-Sender': of.sender,
  'CG-Recursion-Depth': String(of.depth),
});

/** What a sender left out, and only that. */
export const completed = (
  headers: Headers,
  missing: { at: number; type: string; sender: string },
  trace: Trace,
): JsonObject => {
  const own = traceOfHeaders(headers) ?? trace;
  const { at, type, sender } = missing;
  const filled: [string, string | undefined][] = [
    ['traceparent', own.traceparent],
    ['tracestate', own.tracestate],
    ['CG-Timestamp', iso(at)],
    ['CG-Version', VERSION],
    ['CG-Msg-Type', type],
    ['CG-Sender', sender],
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

const headerOf = (headers: Headers, name: string): unknown =>
  Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];

const EXTENSIONS = ['CG-User-ID', 'CG-Channel-ID', 'CG-Context-ID'];
const LONGEST_EXTENSION = 1024;

/** What the protocol names and gives no meaning to: a call carries it to its worker. */
export const extensionsIn = (headers: Headers): JsonObject | undefined => {
  const said = EXTENSIONS.map((name): [string, unknown] => [name, headerOf(headers, name.toLowerCase())]);
  const texts = said.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value).slice(0, LONGEST_EXTENSION)]],
  );
  return texts.length > 0 ? Object.fromEntries(texts) : undefined;
};

/** Who sent it, for whoever brings the messages of others. */
export const senderIn = (headers: Headers): string | undefined => {
  const sender = headerOf(headers, 'cg-sender');
  return typeof sender === 'string' && sender !== '' ? sender : undefined;
};

const OWN = 'cg-';
const SIGNATURE = 'cg-signature';

/**
 * What a signature covers, with the signature beside it, and when it was made: the subject, the payload, and the protocol's own
 * headers, by their names in lower case and as text. The trace changes on the way, and is not covered.
 */
export const signedIn = (subject: string, headers: Headers, payload: JsonObject): Signed => {
  const texts = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), String(value)]);
  const { [SIGNATURE]: signature, ...own } = Object.fromEntries(texts.filter(([name]) => name.startsWith(OWN)));
  return { message: { subject, headers: own, payload, signature }, at: Date.parse(own['cg-timestamp'] ?? '') };
};

/** The trace that a message's own headers name, if one can be read. */
export const traceOfHeaders = (headers: Headers): Trace | undefined => {
  const [traceparent, tracestate] = [headerOf(headers, 'traceparent'), headerOf(headers, 'tracestate')];
  if (typeof traceparent !== 'string') return undefined;
  const trace = traceFrom(traceparent, typeof tracestate === 'string' ? tracestate : undefined);
  return trace.traceparent === traceparent ? trace : undefined;
};

const LONGEST_DEPTH = 64;

/** A depth of any type and length as a text, so that one which is none is refused as a depth, not as a header. */
export const withDepthAsText = (message: JsonObject): JsonObject => {
  if (!isObject(message.headers)) return message;
  const headers = Object.entries(message.headers).map(([name, value]) =>
    name.toLowerCase() === DEPTH && value !== undefined
      ? [name, (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, LONGEST_DEPTH)]
      : [name, value],
  );
  return { ...message, headers: Object.fromEntries(headers) };
};

/** How deep in a chain of calls; undefined where it is not said. What is said must be an integer that is not negative. */
export const depthIn = (headers: Headers): number | undefined => {
  const said = headerOf(headers, DEPTH);
  if (said === undefined || said === '') return undefined;
  if (/^\d{1,9}$/.test(String(said))) return Number(said);
  throw new ParleyError('protocol_violation', 'CG-Recursion-Depth must be an integer that is not negative.', {
    facts: { violated: 'CG-Recursion-Depth' },
    issues: [{ path: 'headers.CG-Recursion-Depth', message: 'must be an integer that is not negative' }],
  });
};

/** The same where it may stand in the body too: what is said twice must agree. */
export const depthSaid = (headers: Headers, inBody: unknown): number | undefined => {
  const inHeader = depthIn(headers);
  if (inBody === undefined) return inHeader;
  if (typeof inBody !== 'number' || !Number.isSafeInteger(inBody) || inBody < 0) {
    throw new ParleyError('protocol_violation', 'recursion_depth must be an integer that is not negative.', {
      facts: { violated: 'recursion_depth' },
      issues: [{ path: 'recursion_depth', message: 'must be an integer that is not negative' }],
    });
  }
  if (inHeader === undefined || inHeader === inBody) return inBody;
  throw new ParleyError('protocol_violation', `CG-Recursion-Depth is ${inHeader}, but recursion_depth is ${inBody}.`, {
    facts: { violated: 'recursion_depth' },
  });
};

/** The same for a call: one that is refused for its depth is told as a turn that failed, once it is known whose. */
export const depthOfCall = (headers: Headers, inBody: unknown): number | ParleyError | undefined => {
  try {
    return depthSaid(headers, inBody);
  } catch (error) {
    if (error instanceof ParleyError) return error;
    throw error;
  }
};

/** The same where the protocol asks for it. */
export const strictDepth = (depth: number | undefined): number => {
  if (depth !== undefined) return depth;
  throw new ParleyError(
    'protocol_violation',
    'CG-Recursion-Depth is missing: say how deep the turn is, as a header, or over HTTP also as "recursion_depth".',
    {
      facts: { violated: 'CG-Recursion-Depth' },
      issues: [{ path: 'headers.CG-Recursion-Depth', message: 'is missing' }],
    },
  );
};

/** Keys of a payload that look like headers. They are let through, and warned of. */
export const headersInPayload = (payload: JsonObject): string[] =>
  Object.keys(payload).filter((key) => key.toLowerCase().startsWith(OWN));
