import middy from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import type { HttpRequest } from '../shared/http/http-message.ts';
import type { Route } from '../shared/http/route.ts';
import { router } from '../shared/http/router.ts';
import { logged } from './logged.ts';
import { logger, wired } from './parley.ts';

/** A function behind the HTTP API, or behind a URL of its own: both send the same events. */
export const httpFunction = (routes: readonly Route[]) => {
  const handle = router(wired().deps, routes);
  return middy<APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2>()
    .use(logged((event: APIGatewayProxyEventV2) => ({ correlationId: event.requestContext.requestId })))
    .handler(async (event, context) => {
      const request = requestOf(event, context);
      const { status, headers, body } = await handle(request);
      logger.info('answered', { method: request.method, path: request.path, status });
      return { statusCode: status, headers, body: typeof body === 'string' ? body : await gathered(body, request) };
    });
};

/** What is left of a function's time when its waits end: enough to answer. */
const ANSWER_MS = 2000;

const requestOf = (event: APIGatewayProxyEventV2, context: Context): HttpRequest => ({
  method: event.requestContext.http.method,
  path: event.rawPath,
  query: event.rawQueryString,
  headers: event.headers,
  body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
  get signal() {
    return AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - ANSWER_MS));
  },
  note: (facts) => logger.appendKeys(facts),
});

/**
 * The HTTP API cannot stream. A reader that comes back is answered as soon as there is something to tell; a new one at once,
 * with the place that it can come back to.
 */
const gathered = async (pieces: AsyncIterable<string>, { headers, query }: HttpRequest): Promise<string> => {
  const isBack = headers['last-event-id'] !== undefined || new URLSearchParams(query).has('after');
  let text = `retry: ${RETRY_MS}\n`;
  for await (const piece of pieces) {
    text += piece;
    if (!isBack || piece.includes('data: ')) break;
  }
  return text;
};

/** How soon a reader should come back. */
const RETRY_MS = 250;
