import type { HttpRequest } from '../shared/http/http-message.ts';
import type { HttpHandler } from '../shared/http/router.ts';
import { EDGE_HEADER } from '../shared/kernel/edge-header.ts';

const HEALTH_PATH = '/healthz';

/** The API names the caller in `Forwarded`, as the last one; what stands before it the caller has sent. */
export const getForwardedSource = (forwarded: string | undefined): string | undefined =>
  /.*\bfor="?\[?([^\s;,"\]]+)/i.exec(forwarded ?? '')?.[1];

/** Behind the HTTP API. Only it can reach the waiter. */
export const serveWaiting =
  (handle: HttpHandler, edgeSecret?: string): HttpHandler =>
  async (request) => {
    if (request.path === HEALTH_PATH)
      return { status: 200, headers: { 'content-type': 'application/json' }, body: '{"status":"ok"}' };
    if (edgeSecret !== undefined && request.headers[EDGE_HEADER] !== edgeSecret)
      return { status: 403, headers: {}, body: '' };
    const source = getForwardedSource(request.headers.forwarded) ?? request.source;
    return handle(source === undefined ? request : withSource(request, source));
  };

const withSource = (request: HttpRequest, source: string): HttpRequest => ({
  method: request.method,
  path: request.path,
  query: request.query,
  headers: request.headers,
  source,
  readBody: (limit) => request.readBody(limit),
  // It is made when somebody asks for it.
  get signal() {
    return request.signal;
  },
});
