import { recordActivity, shouldRecordActivity } from '../identity/agents/agent-activity.ts';
import {
  authenticate,
  type Caller,
  describeCaller,
  hasScope,
  type RelayCaller,
} from '../identity/auth/authenticate.ts';
import { recordKeyUse } from '../identity/auth/key-use.ts';
import { parsePresentedKey } from '../identity/auth/presented-key.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { logRateLimited } from '../kernel/log.ts';
import { createChildSpan, parseTrace, type Trace } from '../kernel/trace.ts';
import type { Admission } from './admission.ts';
import { CallLimiter } from './call-limiter.ts';
import { FailedKeyLimiter } from './failed-key-limiter.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import { createWaitCollector, LongPoll, type WaitCounts } from './long-poll.ts';
import { toProblem, toPublicError } from './problem.ts';
import { MAX_PARAM_BYTES, MAX_PARAM_LENGTH, type Route, type RouteCall, type RouteResponse } from './route.ts';

export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse>;

/** Answers any request: finds its route, checks its key and its body, and turns every error into a problem. */
export const createRouter = (deps: Deps, routes: readonly Route[], admission?: Admission): HttpHandler => {
  const match = createMatcher(routes);
  const counts: WaitCounts = new Map();
  const failedKeys = new FailedKeyLimiter(deps.config.limits.failedKeysPerMinute, deps.log, deps.clock);
  const calls = createCallLimiter(deps, admission);
  deps.metrics?.addCollector(createWaitCollector(deps.metrics, counts));
  return async (request) => {
    const trace = parseTrace(request.headers.traceparent, request.headers.tracestate, request.headers.baggage);
    const headers = { traceparent: createChildSpan(trace).traceparent };
    request.addLogFields?.({ traceparent: trace.traceparent });
    try {
      const found = await dispatchRequest({ deps, counts, calls, admission }, match(request), request, trace);
      return toHttpResponse(found, headers, isHead(request));
    } catch (thrown) {
      const cause = toPublicError(thrown);
      const error = isFailedKey(cause, request) ? failedKeys.recordFailure(request.source ?? '', cause) : cause;
      recordRefusal(deps, request, error);
      if (admission && isDelayed(error, cause)) await admission.delayRejection(() => request.signal);
      return toProblemResponse(deps, request, error, headers);
    }
  };
};

/** Where others answer calls too, nobody is without a limit. */
const SHARED_CALLS_PER_MINUTE = 6000;

const createCallLimiter = (deps: Deps, admission: Admission | undefined): CallLimiter | undefined => {
  const isShared = admission === undefined;
  const perMinute = deps.config.limits.callsPerMinute ?? (isShared ? SHARED_CALLS_PER_MINUTE : undefined);
  return perMinute === undefined ? undefined : new CallLimiter(deps, perMinute, isShared);
};

/** A key that is not valid counts where it pretends to belong. */
const recordRefusal = ({ recordMetric, config }: Deps, { headers }: HttpRequest, { code }: ParleyError): void => {
  const key = parsePresentedKey(headers.authorization);
  const project = key && key !== 'malformed' && Object.hasOwn(config.projects, key.project) ? key.project : 'default';
  recordMetric('refusal_count', 1, { project, code });
};

/** Calls without a key guess none. */
const isFailedKey = ({ code }: ParleyError, { source, headers }: HttpRequest): boolean =>
  code === 'unauthorized' && source !== undefined && headers.authorization !== undefined;

const isDelayed = (error: ParleyError, cause: ParleyError): boolean =>
  error !== cause || error.code === 'overloaded' || error.code === 'too_many_in_flight';

interface RouterContext {
  deps: Deps;
  counts: WaitCounts;
  calls: CallLimiter | undefined;
  admission: Admission | undefined;
}

const dispatchRequest = async (
  { deps, counts, calls, admission }: RouterContext,
  { route, params }: RouteMatch,
  request: HttpRequest,
  trace: Trace,
): Promise<RouteResponse> => {
  const waiting = new LongPoll(deps, counts, request);
  if (route.access === 'open') return route.handle({ deps, params, query: {}, trace, request, longPoll: waiting });
  admission?.assertCapacity();
  const caller = await authenticate(deps, request.headers.authorization);
  await calls?.countCall(caller);
  const name = describeCaller(caller);
  request.addLogFields?.({ project: caller.project, agent: name });
  const query = request.query === '' ? {} : Object.fromEntries(new URLSearchParams(request.query));
  const handleAdmitted = (admitted: HttpRequest) =>
    handleAsCaller(route, { deps, caller, params, query, trace, request: admitted, longPoll: waiting }, caller);
  return admission
    ? await admission.run(`${caller.project}/${name}`, request, handleAdmitted)
    : await handleAdmitted(request);
};

/** A key that ends while its call waits is answered as one that is not valid, whatever was found for it. */
const handleAsCaller = async (route: Route, call: RouteCall, caller: Caller | RelayCaller): Promise<RouteResponse> => {
  const { deps, longPoll } = call;
  await recordKeyUse(deps, caller);
  // Who only reads with a key of an agent is somebody else.
  if (caller.role === 'agent' && hasScope(caller, 'agent') && shouldRecordActivity(deps, caller.registered))
    await recordActivity(deps, caller.registered);
  let stream: RouteResponse['stream'];
  const begun = performance.now();
  try {
    const found = await route.handle(call);
    longPoll.assertKeyValid();
    if (!longPoll.hasWaited)
      deps.recordMetric('request_latency_ms', performance.now() - begun, { project: caller.project });
    // Whoever asks for the head alone follows no stream.
    stream = found.stream && !isHead(call.request) ? longPoll.streamUntilEnd(found.stream) : undefined;
    return stream ? { ...found, stream } : found;
  } finally {
    // A stream goes on.
    if (!stream) longPoll.end();
  }
};

const isHead = ({ method }: HttpRequest): boolean => method === 'HEAD';

const STREAM_TYPE = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

const toHttpResponse = (
  { status, body, json, stream, file, endsByItself, headers: own }: RouteResponse,
  common: Record<string, string>,
  withoutBody: boolean,
): HttpResponse => {
  const withType = (type: Record<string, string>) => ({ ...common, ...type, ...own });
  if (file) {
    // What an agent made is never shown as a page of this address.
    const type = {
      'content-type': file.type,
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
    };
    return { status, headers: withType(type), body: file.bytes };
  }
  if (stream) return { status, headers: withType(STREAM_TYPE), body: withoutBody ? '' : stream, endsByItself };
  if (json) return { status, headers: withType({ 'content-type': 'application/json' }), body: json };
  if (!body) return { status, headers: withType({}), body: '' };
  return { status, headers: withType({ 'content-type': 'application/json' }), body: JSON.stringify(body) };
};

const toProblemResponse = (
  deps: Deps,
  request: HttpRequest,
  error: ParleyError,
  headers: Record<string, string>,
): HttpResponse => {
  const { status, body } = toProblem(error);
  if (status === 500) {
    const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
    deps.log('error', 'request failed', { method: request.method, path: request.path, ...headers, cause });
  }
  if (status === 503) logUnavailable(deps, request, error);
  const type = { 'content-type': 'application/problem+json' };
  return { status, headers: { ...headers, ...type, ...buildErrorHeaders(error) }, body: JSON.stringify(body) };
};

const logUnavailable = (deps: Deps, { method, path }: HttpRequest, { code, cause }: ParleyError): void => {
  const message = 'request rejected with 503';
  // Those are counted and told together.
  if (code === 'overloaded') return;
  // A full disk refuses as many as come.
  if (code === 'storage_full') logRateLimited(deps, { code }, message, { method, path });
  else deps.log('warn', message, { method, path, code, cause: String(cause) });
};

/** What HTTP asks for beside the problem itself. */
const buildErrorHeaders = ({ code, retryable, details }: ParleyError): Record<string, string> => {
  if (code === 'unauthorized') return { 'www-authenticate': 'Bearer' };
  if (code === 'method_not_allowed') return { allow: String(details.allow) };
  return retryable ? { 'retry-after': String(details.retryAfterSeconds ?? 1) } : {};
};

interface RouteMatch {
  route: Route;
  params: Record<string, string>;
}

const createMatcher = (routes: readonly Route[]): ((request: HttpRequest) => RouteMatch) => {
  const fixed = new Map(
    routes
      .filter(({ path }) => !path.includes('{'))
      .map((route) => [`${route.method} ${route.path}`, { route, params: {} }]),
  );
  const patterns = routes.map((route) => ({ route, steps: route.path.split('/') }));
  const byMethod = Map.groupBy(patterns, ({ route }): string => route.method);
  return (request) => {
    const { path } = request;
    // What GET answers, without its body.
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const exact = fixed.get(`${method} ${path}`);
    if (exact) return exact;
    // Some senders escape the colon of `message:send`, and a parameter is decoded in any case.
    const steps = path.replaceAll('%3A', ':').split('/');
    const match = byMethod.get(method)?.find((pattern) => matchesPattern(pattern.steps, steps));
    if (match) return { route: match.route, params: parseParams(match.steps, steps) };
    const found = patterns.filter((pattern) => matchesPattern(pattern.steps, steps));
    if (found.length === 0) {
      throw new ParleyError('not_found', `There is nothing at ${path}. GET /openapi.json lists all calls.`);
    }
    const allow = found.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : route.method)).join(', ');
    throw new ParleyError('method_not_allowed', `${path} takes ${allow}, not ${request.method}.`, {
      details: { allow },
    });
  };
};

const matchesPattern = (pattern: string[], steps: string[]): boolean =>
  pattern.length === steps.length &&
  pattern.every((step, index) => (step.startsWith('{') ? steps[index] !== '' : step === steps[index]));

const parseParams = (pattern: string[], steps: string[]): Record<string, string> =>
  Object.fromEntries(
    pattern.flatMap((step, index) =>
      step.startsWith('{') ? [[step.slice(1, -1), decodeParam(steps[index] ?? '')]] : [],
    ),
  );

const decodeParam = (step: string): string => {
  const name = decodeUriStep(step);
  const [length, bytes] = [[...name].length, Buffer.byteLength(name)];
  if (length <= MAX_PARAM_LENGTH && bytes <= MAX_PARAM_BYTES) return name;
  throw new ParleyError(
    'not_found',
    `"${name.slice(0, 64)}…" has ${length} characters in ${bytes} bytes; no name has more than ${MAX_PARAM_LENGTH} in ${MAX_PARAM_BYTES}.`,
  );
};

const decodeUriStep = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch (cause) {
    throw new ParleyError('not_found', `"${step.slice(0, 64)}" is not a readable part of an address.`, { cause });
  }
};
