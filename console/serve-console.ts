import { gzipSync } from 'node:zlib';
import type { HttpRequest, HttpResponse } from '../shared/http/http-message.ts';

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Nothing inline, nothing from elsewhere, in no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const FOREVER = 'public, max-age=31536000, immutable';

interface ConsoleFile {
  type: string;
  plain: Uint8Array;
  compressed: Uint8Array;
  cacheControl: string;
}

interface ConsoleResponse extends HttpResponse {
  body: string | Uint8Array;
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

export const prepareFiles = (files: ReadonlyMap<string, Uint8Array>): ConsoleFiles =>
  new Map(
    [...files].map(([name, plain]) => [
      name,
      {
        type: TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
        plain,
        compressed: gzipSync(plain, { level: 9 }),
        cacheControl: /-[0-9a-f]{12}\.\w+$/.test(name) ? FOREVER : 'no-cache',
      },
    ]),
  );

export const isConsolePath = (path: string): boolean => path === '/console' || path.startsWith('/console/');

const text = (status: number, body: string, more: Record<string, string> = {}): ConsoleResponse => ({
  status,
  headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', ...more },
  body,
});

/** Answers `/console` and what is below it. The page addresses all else relatively, so a proxy may put a path in front. */
export const serveConsole = (
  files: ConsoleFiles,
  { method, path, headers }: Pick<HttpRequest, 'method' | 'path' | 'headers'>,
): ConsoleResponse => {
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'Only GET.\n', { allow: 'GET, HEAD' });
  if (path === '/console') return text(308, '', { location: 'console/' });
  const file = files.get(path.slice('/console/'.length) || 'index.html');
  if (!file) return text(404, 'The console has no such file. Its pages are at /console/.\n');
  const isCompressed = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  return {
    status: 200,
    headers: {
      ...HEADERS,
      'content-type': file.type,
      'cache-control': file.cacheControl,
      vary: 'accept-encoding',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    },
    body: method === 'HEAD' ? '' : isCompressed ? file.compressed : file.plain,
  };
};
