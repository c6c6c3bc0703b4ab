import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { RouteMatch } from './routes.ts';

/** All other types are sent in base64, also form data, curl's default. */
const TEXT_TYPES = /^(text\/|application\/(json|javascript|xml|[\w.-]+\+(json|xml))\b)/;

export interface ApiFacts {
  apiId: string;
  account: string;
  /** A function URL passes the raw path; an HTTP API decodes it. */
  isFunctionUrl?: true;
}

export const buildEvent = (
  incoming: IncomingMessage,
  body: Buffer,
  { route, pathParameters }: RouteMatch,
  { apiId, account, isFunctionUrl }: ApiFacts,
): object => {
  const { url = '/', method = 'GET' } = incoming;
  const mark = url.indexOf('?');
  const sent = mark < 0 ? url : url.slice(0, mark);
  const path = isFunctionUrl ? sent : decodePart(sent);
  const query = mark < 0 ? '' : url.slice(mark + 1);
  const { cookie, ...headers } = joinHeaders(incoming);
  const isText = body.length === 0 || isTextType(headers['content-type']);
  const now = new Date();
  return {
    version: '2.0',
    routeKey: route.key,
    rawPath: path,
    rawQueryString: query,
    ...(cookie !== undefined && { cookies: cookie.split('; ') }),
    headers,
    ...(query !== '' && { queryStringParameters: parseQueryParameters(query) }),
    ...(pathParameters && { pathParameters }),
    requestContext: {
      accountId: account,
      apiId,
      domainName: isFunctionUrl ? `${apiId}.lambda-url.us-east-1.on.aws` : (incoming.headers.host ?? ''),
      domainPrefix: apiId,
      http: {
        method,
        path,
        protocol: `HTTP/${incoming.httpVersion}`,
        sourceIp: incoming.socket.remoteAddress ?? '',
        userAgent: incoming.headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
      routeKey: route.key,
      stage: '$default',
      time: now.toUTCString(),
      timeEpoch: now.getTime(),
    },
    ...(body.length > 0 && { body: isText ? body.toString() : body.toString('base64') }),
    isBase64Encoded: !isText,
  };
};

const decodePart = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

const isTextType = (type: string | undefined): boolean => type !== undefined && TEXT_TYPES.test(type);

const joinHeaders = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(',') : value]],
    ),
  );

/** Repeated names are joined with a comma. */
const parseQueryParameters = (query: string): Record<string, string> => {
  const parameters: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const before = parameters[name];
    parameters[name] = before === undefined ? value : `${before},${value}`;
  }
  return parameters;
};

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const Structured = z.object({
  statusCode: z.coerce.number().int().min(100).max(599),
  headers: z.record(z.string(), headerValue).nullish(),
  cookies: z.array(z.string()).optional(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
});

export interface ApiResponse {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** Without a status code, the whole result is the body of a 200. */
export const toApiResponse = (result: string): ApiResponse | undefined => {
  const answer: unknown = JSON.parse(result);
  if (typeof answer !== 'object' || answer === null || !('statusCode' in answer)) {
    const text = typeof answer === 'string' ? answer : result;
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) };
  }
  const parsed = Structured.safeParse(answer);
  if (!parsed.success) return undefined;
  const { statusCode, headers, cookies, body, isBase64Encoded } = parsed.data;
  const named = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    status: statusCode,
    headers: {
      'content-type': 'text/plain;charset=UTF-8',
      ...Object.fromEntries(named),
      ...(cookies && { 'set-cookie': cookies }),
    },
    body: Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8'),
  };
};
