/** The first matching row counts. */
const PARTS = [
  ['validation', /\/zod\/|\/shared\/(json|dialects)\//],
  ['http', /^node:(_http|http|net|events)|^node:internal\/(http|streams|stream_base|event_target|abort|url)/],
  ['http', /\/local\/server\.ts|\/shared\/http\/|\/per_context\//],
  ['engine', /\/shared\/engines\//],
  ['domain', /\/shared\/|\/local\//],
  ['crypto', /^node:internal\/crypto/],
  ['loading', /^node:internal\/(modules|bootstrap|process\/pre)|^node:internal\/deps\//],
  ['event loop', /^node:/],
] as const;

export type Part = (typeof PARTS)[number][0] | 'sqlite' | 'json' | 'garbage collection' | 'native';

export const ABOUT: Record<Part, string> = {
  http: 'node:http, sockets, streams and signals, local/http-server.ts, shared/http',
  validation: 'zod, shared/json, shared/dialects',
  sqlite: 'lines that run a statement',
  json: 'lines that parse or write JSON',
  engine: 'shared/engines without SQLite and JSON',
  domain: 'the rest of shared and local',
  crypto: 'hashes and random ids',
  'garbage collection': 'on the main thread',
  'event loop': 'ticks, promises, timers, file system calls',
  native: 'outside of JavaScript: the kernel, V8 and libuv',
  loading: 'reading and compiling modules',
};

export const partOf = (functionName: string, url: string): Part => {
  if (functionName === '(garbage collector)') return 'garbage collection';
  return PARTS.find(([, urls]) => urls.test(url))?.[0] ?? 'native';
};

const STATEMENT = /(#\w+|\bstatement)\??\.(run|get|all|iterate)\(|\bsql\.exec\(/;

export const partOfLine = (line: string, otherwise: Part): Part => {
  if (otherwise === 'engine' && STATEMENT.test(line)) return 'sqlite';
  if (otherwise !== 'validation' && /\bJSON\.(parse|stringify)\(/.test(line)) return 'json';
  return otherwise;
};
