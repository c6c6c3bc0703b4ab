import * as z from 'zod';
import { streamEvents } from '../../events/stream-events.ts';
import { getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { computeProjectHmac } from '../../identity/project-secret.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { buildJsonRpcError, buildJsonRpcResult } from '../../kernel/json-rpc.ts';
import { isStreamed } from '../../mcp/answer.ts';
import type { McpContext } from '../../mcp/context.ts';
import type { McpCall } from '../../mcp/mcp-call.ts';
import { runMethod } from '../../mcp/methods.ts';
import { readCall, readRequestId } from '../../mcp/read-call.ts';
import { getErrorStatus, toRpcError } from '../../mcp/responses.ts';
import { RPC_CODES, RpcError } from '../../mcp/rpc-error.ts';
import { streamAnswer } from '../../mcp/sse.ts';
import { createInternalApi } from '../internal-api.ts';
import { defineRoute, largeBodyLimit, type Route, type RouteResponse } from '../route.ts';
import { createRouter, type HttpHandler } from '../router.ts';

const HEADERS = {
  'MCP-Protocol-Version': 'the revision of MCP, such as 2026-07-28',
  'Mcp-Method': 'from 2026-07-28 on: the method of the body',
  'Mcp-Name': 'from 2026-07-28 on: the tool, prompt, resource or task of the body',
};

/** Some proxies hold a stream back otherwise. */
const UNBUFFERED = { 'x-accel-buffering': 'no' };

const RpcResponse = z.looseObject({ jsonrpc: z.literal('2.0') });

/** MCP on the calls of this API: whatever an agent may do there it may do here, and nothing else. */
export const createMcpRoutes = (all: () => readonly Route[]): Route[] => {
  const routers = new WeakMap<Deps, HttpHandler>();
  const getRouter = (deps: Deps): HttpHandler => {
    const router = routers.get(deps) ?? createRouter(deps, all());
    routers.set(deps, router);
    return router;
  };
  return [
    [
      'callMcp',
      '/mcp',
      'Serve MCP: every capability is a tool, and tools to submit, follow, claim and report tasks',
    ] as const,
    ['callMcpOfAgent', '/mcp/{agent}', 'Serve MCP with the capabilities of one agent as tools'] as const,
  ].map(([operationId, path, summary]) => answerInRpc(defineMcpRoute({ operationId, path, summary }, getRouter)));
};

const defineMcpRoute = (
  about: Pick<Route, 'operationId' | 'path' | 'summary'>,
  getRouter: (deps: Deps) => HttpHandler,
): Route =>
  defineRoute({
    ...about,
    method: 'POST',
    headers: HEADERS,
    // Each call that it makes has checks of its own.
    ingress: 'none',
    bodyBytes: largeBodyLimit,
    body: jsonValue.meta({ description: 'a request or notification in JSON-RPC 2.0' }),
    responses: {
      200: { description: 'The response', schema: RpcResponse, otherType: 'text/event-stream' },
      202: { description: 'A notification was accepted' },
      400: { description: 'No request of MCP, or its headers say something else' },
      403: { description: 'The origin of a browser that the configuration does not list' },
      404: { description: 'No such method' },
    },
    handle: async ({ deps, caller, params, body, request, longPoll }) => {
      assertOriginAllowed(deps, request.headers.origin);
      let call: McpCall | undefined;
      try {
        call = readCall(body, request.headers);
        if (!call) return { status: 202 };
        const { id } = call;
        const context: McpContext = {
          api: createInternalApi(getRouter(deps), request),
          call,
          agent: params.agent,
          newId: deps.newId,
          sign: async (text) => {
            const hmac = await computeProjectHmac(deps, caller.project, 'mcp', [getCallerName(caller), text]);
            return hmac.toString('base64url');
          },
          canStream: isStreamAccepted(request.headers.accept),
          startWait: () => longPoll.startStream(),
          streamEvents: (types) => streamEvents(deps, caller, { types, limit: 100 }, longPoll.startStream()),
          taskRetentionMs: deps.config.tasks.retentionMs,
        };
        const answer = await runMethod(context);
        if (!isStreamed(answer)) return { status: 200, body: buildJsonRpcResult(id, answer) };
        return { status: 200, stream: streamAnswer(id, answer), endsByItself: true, headers: UNBUFFERED };
      } catch (error) {
        const known = toRpcError(error);
        if (!known) throw error;
        return toErrorAnswer(call?.id ?? readRequestId(body), call, known);
      }
    },
  });

const toErrorAnswer = (id: McpCall['id'] | undefined, call: McpCall | undefined, error: RpcError): RouteResponse => ({
  status: getErrorStatus(call, error),
  body: buildJsonRpcError(id, error),
});

/** A body that is no JSON has an error of JSON-RPC too. */
const answerInRpc = (route: Route): Route => ({
  ...route,
  isForeign: true,
  handle: async (call) => {
    try {
      return await route.handle(call);
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'invalid_json') throw error;
      return toErrorAnswer(undefined, undefined, new RpcError(RPC_CODES.parseError, error.message));
    }
  },
});

const isStreamAccepted = (accept = ''): boolean => accept.includes('text/event-stream');

const LOCAL_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** A page of another site may have made a name of its own point here. */
const assertOriginAllowed = ({ config }: Deps, origin: string | undefined): void => {
  if (origin === undefined || LOCAL_ORIGIN.test(origin) || config.mcp.origins.includes(origin)) return;
  throw new ParleyError(
    'forbidden',
    `Pages of ${origin.slice(0, 200)} may not call MCP. Add the origin to mcp.origins in the configuration.`,
  );
};
