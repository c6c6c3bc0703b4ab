import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import config from '../../parley.config.ts';
import { getLastEventId, type HttpRequest } from '../../shared/http/http-message.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { Route } from '../../shared/http/route.ts';
import { createRouter } from '../../shared/http/router.ts';
import { EDGE_HEADER } from '../../shared/kernel/edge-header.ts';
import { createRuntime } from './composition.ts';
import { createHandler } from './create-handler.ts';
import { FunctionEnv } from './env.ts';
import { logger } from './function-logger.ts';
import { LambdaLongPoll } from './long-poll.ts';
import { flushMetrics } from './metrics-buffer.ts';
import { openConnections } from './open-connections.ts';

export type HttpFunction = Awaited<ReturnType<typeof createHttpFunction>>;

/** A function behind the HTTP API, or behind a URL of its own: both send the same events. */
export const createHttpFunction = async (routes: readonly Route[], options?: Parameters<typeof createRuntime>[0]) => {
  const { deps } = createRuntime(options);
  const handle = createRouter(deps, routes);
  await openConnections(deps);
  return createHandler<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>(
    async (event, context) => {
      if (EDGE_SECRET !== undefined && event.headers[EDGE_HEADER] !== EDGE_SECRET) return FORBIDDEN;
      const wait = new LambdaLongPoll(deps, Math.max(0, context.getRemainingTimeInMillis() - RESPONSE_MARGIN_MS));
      const request = toHttpRequest(event, wait);
      const { status, headers, body, endsByItself } = await handle(request);
      const content =
        typeof body === 'string' || body instanceof Uint8Array
          ? body
          : await (endsByItself ? collectFiniteStream(body) : collectStream(body, request));
      await wait.end();
      await flushMetrics();
      if (status >= MIN_LOGGED_STATUS) logger.info('answered', { method: request.method, path: request.path, status });
      return { statusCode: status, headers: { ...headers, ...wait.buildHeaders() }, ...encodeBody(content) };
    },
    { getLogFields: ({ requestContext }) => ({ correlationId: requestContext.requestId }) },
  );
};

const { EDGE_SECRET } = FunctionEnv.parse(process.env);
/** Before anything is read. Nobody learns from it how the header is called. */
const FORBIDDEN = { statusCode: 403, body: '' };

/** The access log has every call: a line more for each would be half of what is logged. */
const MIN_LOGGED_STATUS = config.aws?.logCalls ? 0 : 400;

/** What is left of a function's time when its waits end: enough to answer. */
const RESPONSE_MARGIN_MS = 2000;

const toHttpRequest = (event: APIGatewayProxyEventV2, wait: LambdaLongPoll): HttpRequest => {
  let [project, owner] = ['default', ''];
  return {
    method: event.requestContext.http.method,
    path: getRequestPath(event),
    query: event.rawQueryString,
    headers: event.headers,
    source: event.requestContext.http.sourceIp,
    readBody: createBodyReader(Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')),
    get signal() {
      return wait.startWait(project, owner);
    },
    addLogFields: (facts) => {
      project = facts.project ?? project;
      owner = facts.agent ?? owner;
      logger.appendFields(facts);
    },
  };
};

/** The HTTP API has decoded the path, a function's own URL has not; the router decodes it. */
const getRequestPath = ({ rawPath, requestContext }: APIGatewayProxyEventV2): string =>
  requestContext.domainName.includes('.lambda-url.') ? rawPath : rawPath.split('/').map(encodeURIComponent).join('/');

/** The answer stands in JSON once more, and has 6 MB there: escaped it may be twice as long, in base64 it is a third. */
const BASE64_ABOVE_BYTES = 1024 * 1024;
const encodeBody = (content: string | Uint8Array) =>
  typeof content === 'string' && content.length < BASE64_ABOVE_BYTES
    ? { body: content }
    : { body: Buffer.from(content).toString('base64'), isBase64Encoded: true as const };

/**
 * The HTTP API cannot stream. A reader that comes back is answered as soon as there is something to tell; a new one at once,
 * with the place that it can come back to.
 */
const collectStream = async (pieces: AsyncIterable<string>, request: HttpRequest): Promise<string> => {
  const isBack = getLastEventId(request) !== undefined || new URLSearchParams(request.query).has('after');
  let text = `retry: ${SSE_RETRY_MS}\n`;
  for await (const piece of pieces) {
    text += piece;
    if (!isBack || piece.includes('data: ')) break;
  }
  return text;
};

/** Until it ends, or the function must: its reader then takes it up where it is. */
const collectFiniteStream = async (pieces: AsyncIterable<string>): Promise<string> => {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
};

/** How soon a reader should come back. */
const SSE_RETRY_MS = 250;
