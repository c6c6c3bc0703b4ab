import type { Random } from '../support/hostile-ports.ts';

/** JSON Schema, as far as OpenAPI and the schemas of dialects use it. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the document says
export type Schema = any;

export const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1));

/** What no schema asks for. Addresses are those of this machine, where nobody listens. */
export const NASTY: readonly unknown[] = [
  null,
  true,
  -0,
  -1,
  0.1,
  1e308,
  -1e308,
  2 ** 53,
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'null',
  '\u0000',
  '\ud800',
  '\u202e',
  'ａ',
  '💥'.repeat(50),
  "'; DROP TABLE records; --",
  '\u0024{jndi:ldap://127.0.0.1/a}',
  '<script>alert(1)</script>',
  '%00%2e%2e%2f',
  'x'.repeat(300),
  'x'.repeat(5000),
  '2026-02-30T25:61:61Z',
  'http://127.0.0.1:9/',
  'http://[::1]:9/',
  [],
  [[]],
  {},
  { __proto__: { isAdmin: true } },
  { constructor: { prototype: {} } },
  { $ref: '#' },
  [null],
];

/** Values that mean something to the server under test, so that inputs get beyond its first check. */
export interface Known {
  ids: readonly string[];
}

const MAX_DEPTH = 6;

export class Generator {
  readonly #random: Random;
  readonly #known: Known;
  readonly #root: Schema;

  constructor(random: Random, known: Known, root: Schema) {
    this.#random = random;
    this.#known = known;
    this.#root = root;
  }

  valid(schema: Schema, name = '', depth = 0): unknown {
    const random = this.#random;
    if (schema === undefined || schema === true || depth > MAX_DEPTH) return this.#any(depth);
    if (schema.$ref) return this.valid(this.#resolve(schema.$ref), name, depth + 1);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return pick(random, schema.enum);
    const choice = schema.oneOf ?? schema.anyOf;
    if (choice) return this.#merged(this.valid(pick(random, choice), name, depth + 1), schema, depth);
    if (schema.allOf) {
      const parts = schema.allOf.map((part: Schema) => this.valid(part, name, depth + 1));
      return parts.every(isObject) ? this.#merged(Object.assign({}, ...parts), schema, depth) : parts[0];
    }
    const type = Array.isArray(schema.type) ? pick(random, schema.type) : (schema.type ?? guessType(schema));
    if (type === 'object') return this.#object(schema, depth);
    if (type === 'array') return this.#array(schema, name, depth);
    if (type === 'integer' || type === 'number') return this.#number(schema, name, type === 'integer');
    if (type === 'boolean') return random() < 0.5;
    if (type === 'null') return null;
    return type === 'string' ? this.string(schema, name) : this.#any(depth);
  }

  /** One to three things are wrong with it. */
  nearlyValid(value: unknown): unknown {
    let spoiled = value;
    for (let times = 1 + upTo(this.#random, 2); times > 0; times--) spoiled = this.#spoil(spoiled);
    return spoiled;
  }

  #resolve(ref: string): Schema {
    const steps = ref.replace(/^#\/?/, '').split('/').filter(Boolean);
    return steps.reduce((at: Schema, step) => at?.[decodeURIComponent(step).replace(/~1/g, '/')], this.#root);
  }

  #merged(value: unknown, schema: Schema, depth: number): unknown {
    return isObject(value) && schema.properties ? { ...this.#object(schema, depth), ...value } : value;
  }

  #object({ properties = {}, required = [], additionalProperties, propertyNames }: Schema, depth: number): object {
    const made: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries<Schema>(properties))
      if (required.includes(name) || this.#random() < 0.4) made[name] = this.valid(schema, name, depth + 1);
    if (isObject(additionalProperties) && this.#random() < 0.5)
      made[this.string(propertyNames ?? {}, 'key')] = this.valid(additionalProperties, '', depth + 1);
    return made;
  }

  #array({ items, minItems = 0, maxItems = 3 }: Schema, name: string, depth: number): unknown[] {
    const length = Math.max(minItems, upTo(this.#random, Math.min(maxItems, 3)));
    return Array.from({ length }, () => this.valid(items, name, depth + 1));
  }

  #number({ minimum = 0, maximum = 1000, exclusiveMinimum }: Schema, name: string, isInteger: boolean): number {
    // Whoever waits holds up what comes after it on the same connection.
    if (name === 'wait') return 0;
    const least = exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
    const edge = this.#random();
    if (edge < 0.15) return least;
    if (edge < 0.3) return maximum;
    const value = least + this.#random() * Math.min(maximum - least, 1000);
    return isInteger ? Math.floor(value) : value;
  }

  string({ pattern, format, minLength = 0, maxLength = 40 }: Schema, name = ''): string {
    const random = this.#random;
    if (format === 'date-time') return new Date(1.79e12 + Math.floor(random() * 1e9)).toISOString();
    if (format === 'uri' || /url|address/i.test(name)) return 'http://127.0.0.1:9/';
    if (pattern) {
      const fits = new RegExp(pattern, 'u');
      const found = this.#known.ids.filter((id) => fits.test(id));
      if (found.length > 0) return pick(random, found);
    }
    if (random() < 0.6) return pick(random, this.#known.ids).slice(0, Math.max(minLength, maxLength));
    return 'abcdefghijklmnopqrstuvwxyz'.slice(0, Math.max(minLength, upTo(random, Math.min(maxLength, 20))));
  }

  #any(depth: number): unknown {
    const random = this.#random;
    if (depth < MAX_DEPTH && random() < 0.2) return { [pick(random, this.#known.ids)]: this.#any(depth + 1) };
    return random() < 0.5 ? pick(random, this.#known.ids) : upTo(random, 100);
  }

  /** Somewhere in it: a member dropped, added, replaced or doubled. */
  #spoil(value: unknown): unknown {
    const random = this.#random;
    if (!isObject(value) && !Array.isArray(value)) return pick(random, NASTY);
    const keys = Object.keys(value);
    const key = keys[Math.floor(random() * keys.length)];
    if (key !== undefined && random() < 0.5) {
      const inner = this.#spoil((value as Record<string, unknown>)[key]);
      return Array.isArray(value) ? value.with(Number(key), inner) : { ...value, [key]: inner };
    }
    if (Array.isArray(value)) return random() < 0.5 ? [...value, pick(random, NASTY)] : [...value, ...value];
    const { [key ?? '']: _dropped, ...rest } = value;
    if (random() < 0.4) return rest;
    return { ...value, [random() < 0.5 ? String(pick(random, NASTY)) : (key ?? 'a')]: pick(random, NASTY) };
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const guessType = ({ properties, items }: Schema): string | undefined =>
  properties ? 'object' : items ? 'array' : undefined;
