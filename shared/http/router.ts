import { authenticate, nameOf } from '../agents/authenticate.ts';
import { isSignOfLife, noteAlive } from '../agents/health.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { childOf, type Trace, traceFrom } from '../trace.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import { problemOf, tellable } from './problem.ts';
import { readBody } from './read-body.ts';
import type { Answer, Call, Route } from './route.ts';

export type Handle = (request: HttpRequest) => Promise<HttpResponse>;

/** Answers any request: finds its route, checks its key and its body, and turns every error into a problem. */
export const router = (deps: Deps, routes: readonly Route[]): Handle => {
  const match = matcher(routes);
  return async (request) => {
    const trace = traceFrom(request.headers.traceparent, request.headers.tracestate);
    const headers = { traceparent: childOf(trace).traceparent };
    request.note?.({ traceparent: trace.traceparent });
    try {
      return respond(await answer(deps, match(request), request, trace), headers);
    } catch (error) {
      return refuse(deps, request, tellable(error), headers);
    }
  };
};

const answer = async (deps: Deps, { route, params }: Match, request: HttpRequest, trace: Trace): Promise<Answer> => {
  if (route.access === 'open') return route.handle({ deps, params, query: {}, body: undefined, trace, request });
  const caller = await authenticate(deps, request.headers.authorization);
  request.note?.({ project: caller.project, agent: nameOf(caller) });
  if (caller.role === 'agent' && isSignOfLife(deps, caller.known)) await noteAlive(deps, caller.known);
  const query = request.query === '' ? {} : Object.fromEntries(new URLSearchParams(request.query));
  const body = readBody(request.body, deps.config.limits.bodyBytes);
  const call: Call = { deps, caller, params, query, body, trace, request };
  return route.handle(call);
};

const respond = ({ status, body, stream, file }: Answer, headers: Record<string, string>): HttpResponse => {
  if (file) {
    // What an agent made is never shown as a page of this address.
    const type = {
      'content-type': file.type,
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
    };
    return { status, headers: { ...headers, ...type }, body: file.bytes };
  }
  if (stream) {
    const type = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
    return { status, headers: { ...headers, ...type }, body: stream };
  }
  if (!body) return { status, headers, body: '' };
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
};

const refuse = (
  deps: Deps,
  request: HttpRequest,
  error: ParleyError,
  headers: Record<string, string>,
): HttpResponse => {
  const { status, body } = problemOf(error);
  if (status === 500) {
    const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
    deps.log('error', 'a request failed', { method: request.method, path: request.path, ...headers, cause });
  }
  if (status === 503) {
    const { method, path } = request;
    deps.log('warn', 'a request could not be served', { method, path, code: error.code, cause: String(error.cause) });
  }
  const type = { 'content-type': 'application/problem+json' };
  return { status, headers: { ...headers, ...type, ...headersFor(error) }, body: JSON.stringify(body) };
};

/** What HTTP asks for beside the problem itself. */
const headersFor = ({ code, retry, facts }: ParleyError): Record<string, string> => {
  if (code === 'unauthorized') return { 'www-authenticate': 'Bearer' };
  if (code === 'method_not_allowed') return { allow: String(facts.allow) };
  return retry === 'later' ? { 'retry-after': String(facts.retryAfterSeconds ?? 1) } : {};
};

interface Match {
  route: Route;
  params: Record<string, string>;
}

const matcher = (routes: readonly Route[]): ((request: HttpRequest) => Match) => {
  const fixed = new Map(
    routes
      .filter(({ path }) => !path.includes('{'))
      .map((route) => [`${route.method} ${route.path}`, { route, params: {} }]),
  );
  const patterns = routes.map((route) => ({ route, steps: route.path.split('/') }));
  const byMethod = Map.groupBy(patterns, ({ route }): string => route.method);
  return ({ method, path }) => {
    const exact = fixed.get(`${method} ${path}`);
    if (exact) return exact;
    const steps = path.split('/');
    const match = byMethod.get(method)?.find((pattern) => fits(pattern.steps, steps));
    if (match) return { route: match.route, params: paramsOf(match.steps, steps) };
    const found = patterns.filter((pattern) => fits(pattern.steps, steps));
    if (found.length === 0) {
      throw new ParleyError('not_found', `There is nothing at ${path}. GET /openapi.json lists all calls.`);
    }
    const allow = found.map(({ route }) => route.method).join(', ');
    throw new ParleyError('method_not_allowed', `${path} takes ${allow}, not ${method}.`, { facts: { allow } });
  };
};

const fits = (pattern: string[], steps: string[]): boolean =>
  pattern.length === steps.length &&
  pattern.every((step, index) => (step.startsWith('{') ? steps[index] !== '' : step === steps[index]));

const paramsOf = (pattern: string[], steps: string[]): Record<string, string> =>
  Object.fromEntries(
    pattern.flatMap((step, index) => (step.startsWith('{') ? [[step.slice(1, -1), decoded(steps[index] ?? '')]] : [])),
  );

/** Nothing has a longer name, and a key of the table has 2,048 bytes: two such names, of three bytes a character, fit into one. */
const LONGEST_NAME = 255;

const decoded = (step: string): string => {
  const name = readable(step);
  if (name.length <= LONGEST_NAME) return name;
  throw new ParleyError(
    'not_found',
    `"${name.slice(0, 64)}…" has ${name.length} characters; no name has more than ${LONGEST_NAME}.`,
  );
};

const readable = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch (cause) {
    throw new ParleyError('not_found', `"${step.slice(0, 64)}" is not a readable part of an address.`, { cause });
  }
};
