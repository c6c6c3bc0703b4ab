import * as z from 'zod';
import type { Caller, Relay } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { type Code, ParleyError } from '../errors.ts';
import { checked } from '../json/checked.ts';
import type { Trace } from '../trace.ts';
import type { HttpRequest } from './http-message.ts';

/** A request that has been recognised, with its query and body not yet looked at. */
export interface Call {
  deps: Deps;
  /** Absent where the route is open to all and no key was sent. */
  caller?: Caller | Relay;
  params: Readonly<Record<string, string>>;
  query: Record<string, string>;
  body: unknown;
  trace: Trace;
  request: HttpRequest;
}

/** What a handler is given. */
export interface Checked<Q, B, C = Caller> extends Omit<Call, 'query' | 'body' | 'caller'> {
  caller: C;
  query: Q;
  body: B;
}

export interface Answer {
  status: number;
  /** Sent as JSON. */
  body?: object;
  /** Sent instead, piece by piece, as an event stream. */
  stream?: AsyncIterable<string>;
  /** Sent instead, as it is. */
  file?: { type: string; bytes: Uint8Array };
}

interface Described {
  description: string;
  /** Of the JSON. */
  schema?: z.ZodType;
  /** The media type of what may come instead, and is no JSON. */
  otherType?: string;
}

interface About {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With parameters in braces: `/v1/tasks/{id}`. */
  path: string;
  summary: string;
  /** Headers that change what it does, and how. */
  headers?: Record<string, string>;
  /** The answers worth describing, by status. */
  answers: Record<number, Described>;
}

interface Definition<Q, B, C = Caller> extends About {
  query: z.ZodType<Q>;
  body: z.ZodType<B>;
  /** What a body of another shape is called, where a protocol has a name for that. */
  code?: Code;
  handle: (call: Checked<Q, B, C>) => Promise<Answer>;
}

export interface Route extends About {
  access: 'open' | 'key';
  query: z.ZodType;
  body: z.ZodType;
  handle: (call: Call) => Promise<Answer>;
}

export const noQuery = z.strictObject({});
export const noBody = z.unknown();

/** One call of the API: what it takes, what it answers, and what it does, in one place. */
export const route = <Q, B>(definition: Definition<Q, B>): Route =>
  keyRoute(definition, (caller) => {
    if (caller.role === 'relay') throw new ParleyError('forbidden', 'The key of the relay is not for this call.');
    return caller;
  });

/** The same for a call that the relay may make too. */
export const relayRoute = <Q, B>(definition: Definition<Q, B, Caller | Relay>): Route =>
  keyRoute(definition, (caller) => caller);

const keyRoute = <Q, B, C>(definition: Definition<Q, B, C>, admitted: (caller: Caller | Relay) => C): Route => ({
  ...definition,
  access: 'key',
  handle: ({ deps, caller, params, query, body, trace, request }) => {
    if (!caller) throw new ParleyError('unauthorized', 'This call needs a key.');
    return definition.handle({
      deps,
      params,
      query: checked(definition.query, query, 'invalid_request', 'The query'),
      body: checked(definition.body, body, definition.code ?? 'invalid_request', 'The body'),
      caller: admitted(caller),
      trace,
      request,
    });
  },
});

/** The same for a call that anyone may make, without a key. */
export const openRoute = (about: About, handle: (deps: Deps, params: Call['params']) => Promise<Answer>): Route => ({
  ...about,
  query: noQuery,
  body: noBody,
  access: 'open',
  handle: ({ deps, params }) => handle(deps, params),
});

/** A number of seconds to wait, in milliseconds. */
export const waitUpTo = (seconds: number) =>
  z
    .string()
    .refine((text) => /^\d{1,3}(\.\d{1,3})?$/.test(text), 'must be a number of seconds')
    .transform((text) => Number(text) * 1000)
    .refine((ms) => ms <= seconds * 1000, `must be at most ${seconds} seconds`)
    .default(0)
    .meta({ type: 'number', minimum: 0, maximum: seconds, description: `seconds to wait, at most ${seconds}` });

export const countUpTo = (most: number, otherwise: number) =>
  z
    .string()
    .refine((text) => /^[1-9]\d{0,5}$/.test(text) && Number(text) <= most, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .default(otherwise)
    .meta({ type: 'integer', minimum: 1, maximum: most, description: `${otherwise} unless it is said` });

/** Of pages that one call looks for in a bounded part of the event log. */
export const SOUGHT_PAGE =
  'A page. With a cursor there may be more, even if the page is short or empty: each call looks through a part of the log. Without one this was all';

/** Where a page of what stands in an index ended. */
export const placeCursor = z.string().regex(/^\d{14}#[ -~]{1,200}$/, 'must be one that an earlier page gave');

/** What ends a wait early; a call that does not wait needs none. */
export const signalFor = (waitMs: number, request: HttpRequest): AbortSignal | undefined =>
  waitMs > 0 ? request.signal : undefined;
