import * as z from 'zod';
import type { Config } from '../config/config.ts';
import {
  type AdminCaller,
  assertScope,
  authenticate,
  type Caller,
  type RelayCaller,
} from '../identity/auth/authenticate.ts';
import type { KeyScope } from '../identity/auth/scopes.ts';
import type { Deps } from '../identity/deps.ts';
import { authorizeSender, buildSignedCall, SIGNATURE_HEADERS } from '../ingest/authorize.ts';
import { IDEMPOTENCY_KEY_HEADER } from '../ingest/idempotency-header.ts';
import { ParleyError, type ParleyErrorCode } from '../kernel/errors.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { parseOrThrow } from '../kernel/json/parse-or-throw.ts';
import type { Trace } from '../kernel/trace.ts';
import type { SignedContent } from '../model/command.ts';
import type { HttpRequest } from './http-message.ts';
import type { LongPoll } from './long-poll.ts';
import { readJson } from './read-body.ts';

/** A request with its route. Its role and query are not checked yet, and its body is not read. */
export interface RouteCall {
  deps: Deps;
  /** Absent where the route is open to all and no key was sent. */
  caller?: Caller | RelayCaller;
  params: Readonly<Record<string, string>>;
  query: Record<string, string>;
  trace: Trace;
  request: HttpRequest;
  longPoll: LongPoll;
}

/** What a handler is given. */
interface ParsedCall<Q, B, C = Caller> extends Omit<RouteCall, 'query' | 'caller'> {
  caller: C;
  query: Q;
  body: B;
  /** For what the call creates. The same ids when a call is repeated under its Idempotency-Key. */
  makeId: () => string;
  /** Absent where the route takes no signature, or the call has none. */
  signed: SignedContent | undefined;
}

export interface RouteResponse {
  status: number;
  /** Sent as JSON. */
  body?: object;
  /** Sent instead, as JSON that was written out before. */
  json?: Uint8Array;
  /** Sent instead, piece by piece, as an event stream. */
  stream?: AsyncIterable<string>;
  /** The stream ends by itself: where nothing can be streamed, it is sent as one when it has. */
  endsByItself?: true;
  /** Sent instead, as it is. */
  file?: { type: string; bytes: Uint8Array };
  /** Names in lower case. They replace those that Parley itself would send. */
  headers?: Record<string, string>;
}

interface ResponseDescription {
  description: string;
  /** Of the JSON. */
  schema?: z.ZodType;
  /** The media types of what may come instead. */
  otherType?: string | readonly string[];
}

interface RouteDescription {
  /** What a program that is made from the OpenAPI document calls it. It stays the same for ever. */
  operationId: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With parameters in braces: `/v1/tasks/{id}`. */
  path: string;
  summary: string;
  /** Headers that change what it does, and how. */
  headers?: Record<string, string>;
  /** What the body looks like, where that follows from the configuration. */
  describeBody?: (config: Config) => JsonObject;
  /** The answers worth describing, by status. */
  responses: Record<number, ResponseDescription>;
}

/**
 * What the ingress check counts and verifies. A call that changes something is one message of the agent whose key it has, unless it
 * says otherwise: `none` for calls that only take or read, `each` for calls whose messages are checked one by one.
 */
type RouteIngress<Q = never, B = never> =
  | 'none'
  | 'each'
  | { messages?: (body: B) => number; from?: (query: Q, body: B) => string | undefined };

interface RouteDefinition<Q, B, A extends KeyAccess> extends RouteDescription {
  /** Whose key it takes, which is looked at before the body is read. */
  access: A;
  /** What its key must be for: by default `read` for GET, `admin` for calls of administrators, and `agent` for all others. */
  scope?: KeyScope;
  ingress?: RouteIngress<Q, B>;
  /** A POST that cannot be repeated under an Idempotency-Key, and why. */
  unrepeatable?: string;
  /** Absent for none. */
  query?: z.ZodType<Q>;
  body?: z.ZodType<B>;
  /** How many bytes a body may have; few unless said, and never more than the configuration allows. */
  bodyBytes?: BodyLimit;
  /** What a body of another shape is called, where a protocol has a name for that. */
  code?: ParleyErrorCode;
  handle: (call: ParsedCall<Q, B, CallerByAccess[A]>) => Promise<RouteResponse>;
}

export interface Route extends RouteDescription {
  access: Access;
  /** Absent where it is open to all. */
  scope?: KeyScope;
  hasIngressChecks: boolean;
  /** It is open to all, or needs a key, as the configuration has it. */
  mayHaveKey?: true;
  /** It answers in another protocol, errors too. */
  isForeign?: true;
  query: z.ZodType;
  body: z.ZodType;
  getMaxBodyBytes: BodyLimit;
  handle: (call: RouteCall) => Promise<RouteResponse>;
}

type BodyLimit = (config: Config) => number;

/** Nothing has a longer name, and a key of the table has 2,048 bytes: two such names fit into one. */
export const MAX_PARAM_LENGTH = 255;
export const MAX_PARAM_BYTES = 960;

/** A body may take a minute; a key that ends meanwhile must be rejected within a second. */
const LATE_BODY_MS = 500;

/** Names, numbers and a few ids. */
const SMALL_BODY_BYTES = 64 * 1024;
const smallBodyLimit: BodyLimit = () => SMALL_BODY_BYTES;

/** One record, which a client may send escaped and indented. */
export const recordBodyLimit: BodyLimit = ({ limits }) => 4 * limits.extensionBytes;

/** Inputs, results or cards. */
export const largeBodyLimit: BodyLimit = ({ limits }) => limits.bodyBytes;

const noQuery = z.strictObject({});
/** An empty object counts as none: some clients always send JSON. */
export const noBody = z.strictObject({}).optional();

/** One call of the API: what it takes, what it answers, and what it does, in one place. */
export const defineRoute = <Q, B>(definition: Omit<RouteDefinition<Q, B, 'agent-or-admin'>, 'access'>): Route =>
  defineKeyRoute({ ...definition, access: 'agent-or-admin' });

/** The same for a call that takes other keys. */
export const defineKeyRoute = <Q, B, A extends KeyAccess>(definition: RouteDefinition<Q, B, A>): Route => {
  const { method, path, bodyBytes = smallBodyLimit, ingress = method === 'GET' ? 'none' : {} } = definition;
  const { scope = getDefaultScope(method, definition.access) } = definition;
  const {
    query: querySchema = noQuery as unknown as z.ZodType<Q>,
    body: bodySchema = noBody as unknown as z.ZodType<B>,
  } = definition;
  const parseQuery = createQueryParser(querySchema);
  const isRepeatable = method === 'POST' && definition.unrepeatable === undefined;
  const getMaxBodyBytes: BodyLimit = (config) => Math.min(bodyBytes(config), config.limits.bodyBytes);
  return {
    ...definition,
    scope,
    query: querySchema,
    body: bodySchema,
    getMaxBodyBytes,
    ...((ingress !== 'none' || isRepeatable) && {
      headers: {
        ...definition.headers,
        ...(isRepeatable && IDEMPOTENCY_KEY_HEADER),
        ...(ingress !== 'none' && SIGNATURE_HEADERS),
      },
    }),
    hasIngressChecks: ingress !== 'none',
    handle: async (call) => {
      const { deps, params, trace, request, longPoll } = call;
      const caller = assertAccess(definition.access, call.caller);
      if (caller.role !== 'relay') assertScope(caller, scope);
      const query = parseQuery(call.query);
      const received = await receiveBody(call, getMaxBodyBytes);
      const body = parseOrThrow(bodySchema, received, definition.code ?? 'invalid_request', 'The body');
      const signed = buildSignedCall({ method, path, params, headers: request.headers, body: received });
      const parsed = { deps, caller, params, query, body, signed, trace, request, longPoll, makeId: deps.newId };
      if (typeof ingress !== 'string') await runIngressChecks(ingress, parsed);
      const key = request.headers['idempotency-key'];
      if (key === undefined || method !== 'POST') return await definition.handle(parsed);
      if (definition.unrepeatable !== undefined)
        throw new ParleyError('invalid_request', `This call takes no Idempotency-Key: ${definition.unrepeatable}`);
      const { 'parley-broadcast': broadcast, 'parley-dialect': dialect } = request.headers;
      const content = [path, params, call.query, broadcast, dialect, received];
      const { executeOnce } = await import('../ingest/idempotency-key.ts');
      return await executeOnce(deps, { caller, key, content }, RESPONSE_CODEC, (makeId) =>
        definition.handle({ ...parsed, makeId }),
      );
    },
  };
};

const RESPONSE_CODEC = {
  encode: ({ stream, file, json, ...kept }: RouteResponse): string | undefined =>
    stream || file || json ? undefined : JSON.stringify(kept),
  decode: (text: string): RouteResponse => {
    const response: RouteResponse = JSON.parse(text);
    return { ...response, headers: { ...response.headers, 'idempotency-replayed': 'true' } };
  },
};

/** Undefined without a body. */
export const receiveBody = async (
  { deps, request }: Pick<RouteCall, 'deps' | 'request'>,
  bodyBytes: BodyLimit,
): Promise<unknown> => {
  const begun = performance.now();
  const received = await readJson(request, Math.min(bodyBytes(deps.config), deps.config.limits.bodyBytes));
  if (performance.now() - begun > LATE_BODY_MS) await authenticate(deps, request.headers.authorization);
  return received;
};

const getDefaultScope = (method: RouteDescription['method'], access: KeyAccess): KeyScope => {
  if (method === 'GET') return 'read';
  return access === 'admin' || access === 'relay-or-admin' ? 'admin' : 'agent';
};

/** Most calls have no query: what its defaults are is the same each time. */
const createQueryParser = <Q>(schema: z.ZodType<Q>): ((query: Record<string, string>) => Q) => {
  let empty: { query: Q } | undefined;
  const parse = (query: Record<string, string>): Q => parseOrThrow(schema, query, 'invalid_request', 'The query');
  return (query) => {
    for (const _ in query) return parse(query);
    empty ??= { query: parse(query) };
    return empty.query;
  };
};

/** An admin key that acts for no agent is not bound by what binds agents. */
const runIngressChecks = <Q, B>(
  { messages, from }: Exclude<RouteIngress<Q, B>, string>,
  { deps, caller, query, body, signed }: ParsedCall<Q, B, Caller | RelayCaller>,
): unknown => {
  const named = from?.(query, body);
  if (caller.role !== 'agent' && named === undefined) return undefined;
  return authorizeSender(deps, { caller, from: named, messageCount: messages?.(body) ?? 1, signature: signed });
};

/** The same for a call that anyone may make, without a key. Its body, if any, is never read. */
export const defineOpenRoute = (
  about: RouteDescription,
  handle: (deps: Deps, params: RouteCall['params']) => Promise<RouteResponse>,
): Route => ({
  ...about,
  query: noQuery,
  body: noBody,
  getMaxBodyBytes: () => 0,
  access: 'open',
  hasIngressChecks: false,
  handle: ({ deps, params }) => handle(deps, params),
});

/** Of any call: on AWS, a function that waits longer cannot answer. */
const MAX_WAIT_SECONDS = 25;
const WAIT_DESCRIPTION = 'seconds to wait';

/** In a query: a number of seconds, in milliseconds. */
export const waitQuery = z
  .string()
  .refine((text) => /^\d{1,3}(\.\d{1,3})?$/.test(text), 'must be a number of seconds')
  .transform((text) => Number(text) * 1000)
  .refine((ms) => ms <= MAX_WAIT_SECONDS * 1000, `must be at most ${MAX_WAIT_SECONDS} seconds`)
  .default(0)
  .meta({ type: 'number', minimum: 0, maximum: MAX_WAIT_SECONDS, description: WAIT_DESCRIPTION });

/** In a body. */
export const waitField = z.number().min(0).max(MAX_WAIT_SECONDS).default(0).describe(WAIT_DESCRIPTION);

export const boundedCount = (most: number, otherwise: number, least = 1) =>
  limitedCount(most, least)
    .default(otherwise)
    .meta({ type: 'integer', minimum: least, maximum: most, description: `default ${otherwise}` });

export const limitedCount = (most: number, least = 1) =>
  z
    .string()
    .refine(
      (text) => /^[1-9]\d{0,5}$/.test(text) && Number(text) >= least && Number(text) <= most,
      `must be a whole number from ${least} to ${most}`,
    )
    .transform(Number)
    .meta({ type: 'integer', minimum: least, maximum: most });

/** Of pages that one call looks for in a bounded part of the event log. */
export const SCANNED_PAGE_DESCRIPTION = 'A page. With a `cursor` there may be more, even if the page is short or empty';

/** Where a page of what stands in an index ended. */
export const timeOrderedCursor = z.string().regex(/^\d{14}#[ -~]{1,200}$/, 'must be one that an earlier page gave');

/** Who may make a call, by what the route declares. */
interface CallerByAccess {
  'agent-or-admin': Caller;
  admin: AdminCaller;
  'relay-or-admin': AdminCaller | RelayCaller;
  'any-key': Caller | RelayCaller;
}
type KeyAccess = keyof CallerByAccess;
export type Access = 'open' | KeyAccess;

const ROLES: Record<KeyAccess, readonly (Caller | RelayCaller)['role'][]> = {
  'agent-or-admin': ['agent', 'admin'],
  admin: ['admin'],
  'relay-or-admin': ['relay', 'admin'],
  'any-key': ['agent', 'admin', 'relay'],
};

const FORBIDDEN_MESSAGES: Record<KeyAccess, string> = {
  'agent-or-admin': 'The key of the relay is not for this call.',
  admin: 'Only an admin key may do this.',
  'relay-or-admin': 'Only the key of the relay or of an admin may do this.',
  'any-key': 'This key is not for this call.',
};

/** The caller, if its role may make this call at all. */
export const assertAccess = <A extends KeyAccess>(
  access: A,
  caller: Caller | RelayCaller | undefined,
): CallerByAccess[A] => {
  if (!caller) throw new ParleyError('unauthorized', 'This call needs a key.');
  if (canCall(access, caller)) return caller;
  throw new ParleyError('forbidden', FORBIDDEN_MESSAGES[access]);
};

const canCall = <A extends KeyAccess>(access: A, caller: Caller | RelayCaller): caller is CallerByAccess[A] =>
  ROLES[access].includes(caller.role);

/** Takes down every task that a request is about; a batch is about several. */
export const createTaskLogger = ({ addLogFields }: HttpRequest): ((taskId: string) => void) => {
  const ids = new Set<string>();
  return (taskId) => {
    ids.add(taskId);
    addLogFields?.({ taskId: [...ids].join(' ') });
  };
};
