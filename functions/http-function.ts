import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { type HttpRequest, lastEventIdOf } from '../shared/http/http-message.ts';
import type { Route } from '../shared/http/route.ts';
import { router } from '../shared/http/router.ts';
import { inLambda } from './in-lambda.ts';
import { logged } from './logged.ts';
import { tellMeasured } from './measured.ts';
import { logger, wired } from './parley.ts';
import { Wait } from './wait.ts';

/** A function behind the HTTP API, or behind a URL of its own: both send the same events. */
export const httpFunction = (routes: readonly Route[]) => {
  const { deps } = wired();
  const handle = router(deps, routes);
  return inLambda<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>()
    .use(logged((event: APIGatewayProxyEventV2) => ({ correlationId: event.requestContext.requestId })))
    .handler(async (event, context) => {
      const wait = new Wait(deps, Math.max(0, context.getRemainingTimeInMillis() - ANSWER_MS));
      const request = requestOf(event, wait);
      const { status, headers, body } = await handle(request);
      const content = typeof body === 'string' || body instanceof Uint8Array ? body : await gathered(body, request);
      await wait.end();
      await tellMeasured();
      logger.info('answered', { method: request.method, path: request.path, status });
      return { statusCode: status, headers: { ...headers, ...wait.headers() }, ...encoded(content) };
    });
};

/** What is left of a function's time when its waits end: enough to answer. */
const ANSWER_MS = 2000;

const requestOf = (event: APIGatewayProxyEventV2, wait: Wait): HttpRequest => {
  let project = 'default';
  return {
    method: event.requestContext.http.method,
    path: pathOf(event),
    query: event.rawQueryString,
    headers: event.headers,
    body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
    get signal() {
      return wait.signal(project);
    },
    note: (facts) => {
      project = facts.project ?? project;
      logger.appendKeys(facts);
    },
  };
};

/** The HTTP API has decoded the path, a function's own URL has not; the router decodes it. */
const pathOf = ({ rawPath, requestContext }: APIGatewayProxyEventV2): string =>
  requestContext.domainName.includes('.lambda-url.') ? rawPath : rawPath.split('/').map(encodeURIComponent).join('/');

/** The answer stands in JSON once more, and has 6 MB there: escaped it may be twice as long, in base64 it is a third. */
const LARGE_BYTES = 1024 * 1024;
const encoded = (content: string | Uint8Array) =>
  typeof content === 'string' && content.length < LARGE_BYTES
    ? { body: content }
    : { body: Buffer.from(content).toString('base64'), isBase64Encoded: true as const };

/**
 * The HTTP API cannot stream. A reader that comes back is answered as soon as there is something to tell; a new one at once,
 * with the place that it can come back to.
 */
const gathered = async (pieces: AsyncIterable<string>, request: HttpRequest): Promise<string> => {
  const isBack = lastEventIdOf(request) !== undefined || new URLSearchParams(request.query).has('after');
  let text = `retry: ${RETRY_MS}\n`;
  for await (const piece of pieces) {
    text += piece;
    if (!isBack || piece.includes('data: ')) break;
  }
  return text;
};

/** How soon a reader should come back. */
const RETRY_MS = 250;
