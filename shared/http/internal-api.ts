import { isJsonObject, type Json } from '../kernel/json/json.ts';
import { ApiProblem, type ApiRequest, type InternalApi } from '../mcp/api.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import { createBodyReader } from './read-body.ts';
import type { HttpHandler } from './router.ts';

/** The API as the sender of a request would call it, without the network between. */
export const createInternalApi = (handle: HttpHandler, outer: HttpRequest): InternalApi => {
  const send = (
    method: string,
    path: string,
    { query = {}, body, headers = {} }: ApiRequest,
  ): Promise<HttpResponse> => {
    const { authorization, traceparent, tracestate, baggage } = outer.headers;
    const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
    return handle({
      method,
      path: path.split('?')[0] ?? path,
      query: [path.split('?')[1], toQueryString(query)].filter(Boolean).join('&'),
      headers: { authorization, traceparent, tracestate, baggage, ...headers },
      readBody: createBodyReader(bytes),
      ...(outer.source !== undefined && { source: outer.source }),
      get signal() {
        return outer.signal;
      },
      ...(outer.addLogFields && { addLogFields: outer.addLogFields }),
    });
  };
  return {
    call: async (method, path, request = {}) => {
      const { status, body } = await send(method, path, request);
      const json = parseBody(body);
      if (status >= 200 && status < 300) return isJsonObject(json) ? json : {};
      throw new ApiProblem(status, isJsonObject(json) ? json : {});
    },
    download: async (path) => {
      const { status, headers, body } = await send('GET', path, {});
      const json = status === 200 ? undefined : parseBody(body);
      if (json !== undefined) throw new ApiProblem(status, isJsonObject(json) ? json : {});
      return { type: headers['content-type'] ?? '', bytes: toBytes(body) };
    },
  };
};

const toQueryString = (query: NonNullable<ApiRequest['query']>): string =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] satisfies [string, string]],
    ),
  ).toString();

const toBytes = (body: HttpResponse['body']): Buffer =>
  typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : Buffer.alloc(0);

const parseBody = (body: HttpResponse['body']): Json => {
  const text = toBytes(body).toString();
  return text === '' ? null : (JSON.parse(text) as Json);
};
