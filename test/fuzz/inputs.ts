import { type Random, seeded } from '../support/hostile-ports.ts';
import { Generator, NASTY, pick, type Schema } from './generate.ts';

/** What is sent, all of it decided by the seed and the number. */
export interface Input {
  number: number;
  /** The route, or what else it is. */
  what: string;
  bytes: Buffer;
  /** No valid HTTP, so that the connection may end with it. */
  isRaw: boolean;
  isHead: boolean;
}

interface Route {
  method: string;
  path: string;
  parameters: { name: string; in: string; required?: boolean; schema: Schema }[];
  body?: Schema;
}

export interface Target {
  document: Schema;
  /** By dialect, of its messages. */
  dialects: Record<string, Schema>;
  ids: string[];
  keys: string[];
  adminKey: string;
  /** Whom it may remove, rename and give new keys. */
  spare: string;
}

export const listRoutes = (document: Schema): Route[] =>
  Object.entries<Schema>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Schema>(methods)
      .filter(([method]) => ['get', 'post', 'put', 'delete', 'patch'].includes(method))
      .map(([method, { parameters = [], requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        parameters: parameters.map((one: Schema) => (one.$ref ? resolve(document, one.$ref) : one)),
        body: (Object.values(requestBody?.content ?? {})[0] as Schema)?.schema,
      })),
  );

const resolve = (document: Schema, ref: string): Schema =>
  ref
    .replace(/^#\//, '')
    .split('/')
    .reduce((at: Schema, step) => at?.[step], document);

/** Each kind of input, and how many of a hundred it is. */
const KINDS: [string, number][] = [
  ['valid', 30],
  ['nearly valid', 25],
  ['message', 20],
  ['nearly a message', 10],
  ['nasty', 8],
  ['no json', 4],
  ['odd http', 2],
  ['bytes', 1],
];

export class Inputs {
  readonly #target: Target;
  readonly #seed: number;
  readonly routes: Route[];
  readonly #spareIds: string[];

  constructor(target: Target, seed: number) {
    this.#target = target;
    this.#seed = seed;
    this.routes = listRoutes(target.document);
    this.#spareIds = [target.spare, 'nobody', 'a.b', 'Ä'];
  }

  make(number: number): Input {
    const random = seeded(Math.imul(this.#seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
    // The first numbers mix badly where seeds are near each other.
    random();
    const kind = this.#kind(random);
    if (kind === 'bytes') return this.#raw(number, random);
    if (kind.endsWith('message')) return this.#message(number, random, kind);
    const route = pick(random, this.routes);
    const generator = new Generator(random, this.#target, this.#target.document);
    const body = this.#body(generator, random, route, kind);
    const isHead = route.method === 'GET' && random() < 0.02;
    const method = isHead
      ? 'HEAD'
      : random() < 0.02
        ? pick(random, ['PATCH', 'TRACE', 'OPTIONS', 'DELETE'])
        : route.method;
    const path = this.#path(generator, random, { ...route, method }, kind === 'nasty');
    const key = this.#key(random, path);
    const bytes = request(method, path, key, body, kind === 'odd http' ? random : undefined);
    return { number, what: `${method} ${route.path} (${kind})`, bytes, isRaw: kind === 'odd http', isHead };
  }

  #kind(random: Random): string {
    let left = random() * 100;
    for (const [kind, share] of KINDS) {
      left -= share;
      if (left < 0) return kind;
    }
    return 'valid';
  }

  #raw(number: number, random: Random): Input {
    const length = 1 + Math.floor(random() * 400);
    const bytes = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
    const start = random() < 0.5 ? Buffer.from('POST /v1/messages HTTP/1.1\r\nhost: x\r\n') : Buffer.of();
    return { number, what: 'bytes', bytes: Buffer.concat([start, bytes]), isRaw: true, isHead: false };
  }

  #message(number: number, random: Random, kind: string): Input {
    const [dialect, schema] = pick(random, Object.entries(this.#target.dialects));
    const generator = new Generator(random, this.#target, schema);
    const valid = generator.valid(schema);
    const message = kind === 'message' ? valid : generator.nearlyValid(valid);
    const body = random() < 0.1 ? { messages: [message, message] } : message;
    const query = random() < 0.5 ? `?dialect=${dialect}` : '';
    const key = this.#key(random, '');
    const bytes = request('POST', `/v1/messages${query}`, key, encode(body));
    return { number, what: `${kind} of ${dialect}`, bytes, isRaw: false, isHead: false };
  }

  #body(generator: Generator, random: Random, { body }: Route, kind: string): Buffer | undefined {
    if (!body && random() < 0.9) return undefined;
    if (kind === 'nasty') return encode(pick(random, NASTY));
    const valid = generator.valid(body);
    if (kind === 'valid' || kind === 'odd http') return encode(valid);
    if (kind === 'nearly valid') return encode(generator.nearlyValid(valid));
    const text = JSON.stringify(valid) ?? '';
    const at = Math.floor(random() * text.length);
    return pick(random, [
      Buffer.from(text.slice(0, at)),
      Buffer.from(`${text.slice(0, at)}\u0000${text.slice(at)}`),
      Buffer.from(`${'['.repeat(5000)}`),
      Buffer.from(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`),
      Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.of(0xff, 0xfe, 0xc0)]),
      Buffer.from(text.replace('{', '{"__proto__":{"x":1},')),
    ]);
  }

  #path(generator: Generator, random: Random, { method, path, parameters }: Route, isNasty: boolean): string {
    // Who works on all this must not be removed by it.
    const isAboutAgents = method !== 'GET' && path.startsWith('/v1/agents/');
    const filled = path.replace(/\{([^}]+)\}/g, (_, name) => {
      if (isAboutAgents) return encodeURIComponent(pick(random, this.#spareIds));
      if (isNasty) return encodeURIComponent(wellFormed(String(pick(random, NASTY))));
      const { schema } = parameters.find((one) => one.in === 'path' && one.name === name) ?? {};
      return encodeURIComponent(generator.string(schema ?? {}, name));
    });
    const query = parameters
      .filter((one) => one.in === 'query' && (one.required || random() < 0.3))
      .map(({ name, schema }) => {
        const value = isNasty && name !== 'wait' ? pick(random, NASTY) : generator.valid(schema, name);
        return `${name}=${encodeURIComponent(wellFormed(String(value)))}`;
      });
    return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
  }

  #key(random: Random, path: string): string | undefined {
    const { keys, adminKey } = this.#target;
    // Only what nobody else depends on may be done with all rights.
    if (random() < 0.35 || path.startsWith('/v1/agents')) return adminKey;
    return random() < 0.04 ? pick(random, [undefined, 'wrong', 'prl_default.x.y', '\u00e4']) : pick(random, keys);
  }
}

const wellFormed = (text: string): string => text.toWellFormed().slice(0, 2000);

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value) ?? '');

const request = (
  method: string,
  path: string,
  key: string | undefined,
  body: Buffer | undefined,
  odd?: Random,
): Buffer => {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1'];
  if (key !== undefined) lines.push(`authorization: Bearer ${key}`);
  if (body) lines.push('content-type: application/json');
  const oddity = odd?.() ?? 1;
  if (oddity < 0.2) lines.push('transfer-encoding: chunked');
  else if (oddity < 0.4) lines.push('content-length: 5', 'content-length: 6');
  else if (oddity < 0.5) lines.push(`x-${'y'.repeat(20_000)}: 1`);
  else if (oddity < 0.6) lines.push('idempotency-key: ä\u0001', `content-length: ${body?.length ?? 0}`);
  else if (oddity < 0.7) lines.push('expect: 200-maybe', `content-length: ${body?.length ?? 0}`);
  else if (oddity < 0.8) lines.push('no colon', `content-length: ${body?.length ?? 0}`);
  else if (oddity < 0.9) lines.splice(1, 1);
  else lines.push(`content-length: ${body?.length ?? 0}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.of()]);
};
