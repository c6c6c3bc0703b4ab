import { hash } from 'node:crypto';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { convertToAttr, convertToNative } from '@aws-sdk/util-dynamodb';
import type { Item, Key } from '../../ports/records.ts';

export type Attributes = Record<string, AttributeValue>;

/** DynamoDB bills a write by the size of the whole item; compression halves it. */
export interface StorageSchema {
  /** Set at creation, never in a condition, never unset. Compressed together. */
  immutable: readonly string[];
  /** Never in a condition. Each one is JSON, compressed if large. */
  compressed: readonly string[];
}

const PACKED_ATTRIBUTE = 'z';
/** Marks a value that the key implies. No immutable field is ever zero. */
const IMPLIED_BY_KEY = 0;
const parseKeyFields = ({ pk }: Pick<Key, 'pk'>): Record<string, unknown> => {
  const [project, , id] = pk.split('#');
  return { project, id };
};

const MIN_COMPRESSED_BYTES = 64;

export const INDEX_ATTRIBUTES = {
  byList: { pk: 'byListPk', sk: 'byListSk' },
  byHolder: { pk: 'byHolderPk', sk: 'byHolderSk' },
} as const;

const isIndexField = (field: string): field is keyof typeof INDEX_ATTRIBUTES => Object.hasOwn(INDEX_ATTRIBUTES, field);

/** A record never changes its shard. */
export const DUE_SHARDS = 16;

/** A partition takes 1,000 write units per second: four shards give an agent 4,000. */
export const INDEX_SHARDS = 4;
export const listShardKeys = (p: string): string[] =>
  Array.from({ length: INDEX_SHARDS }, (_, shard) => `${p}#${shard}`);
const toShardKey = (p: unknown, key: Key): string | undefined =>
  typeof p === 'string' ? `${p}#${hashKey(key) % INDEX_SHARDS}` : undefined;
const fromShardKey = (p: string | undefined): string | undefined => p?.slice(0, p.lastIndexOf('#'));

const hashKey = ({ pk, sk }: Key): number => hash('sha256', `${pk} ${sk}`, 'buffer').readUInt32BE();

export type StoredField = [attribute: string, value: AttributeValue | undefined][];

export class ItemCodec {
  readonly #immutable: ReadonlySet<string>;
  readonly #compressed: ReadonlySet<string>;

  constructor({ immutable, compressed }: StorageSchema) {
    this.#immutable = new Set(immutable);
    this.#compressed = new Set(compressed);
  }

  encode(record: Key & object): Attributes {
    const fields = Object.entries(record).filter(([, value]) => value !== undefined);
    const implied = parseKeyFields(record);
    const fixed = [...this.#immutable].map((field) => {
      const value: unknown = Reflect.get(record, field) ?? null;
      return value !== null && value === implied[field] ? IMPLIED_BY_KEY : value;
    });
    const isPacked = isLarge(fields.filter(([field]) => this.#immutable.has(field)));
    const item: Attributes = isPacked
      ? { [PACKED_ATTRIBUTE]: compress(fixed.slice(0, fixed.findLastIndex(isPresent) + 1)) }
      : {};
    for (const [field, value] of fields) {
      if (isPacked && this.#immutable.has(field)) continue;
      for (const [name, stored] of this.encodeField(record, field, value)) if (stored) item[name] = stored;
    }
    return item;
  }

  #decodeImmutable(values: unknown, pk: string): object {
    const all: unknown[] = Array.isArray(values) ? values : [];
    const implied = parseKeyFields({ pk });
    const named = [...this.#immutable].map((field, index) => [
      field,
      all[index] === IMPLIED_BY_KEY ? implied[field] : all[index],
    ]);
    return Object.fromEntries(named.filter(([, value]) => value !== null && value !== undefined));
  }

  encodeField(key: Key, field: string, value: unknown): StoredField {
    if (isIndexField(field)) {
      const { pk: p, sk: s } = INDEX_ATTRIBUTES[field];
      const place = Object(value);
      return [
        [p, toOptionalString(toShardKey(place.pk, key))],
        [s, toOptionalString(place.sk)],
      ];
    }
    if (field === 'due') return [...toPlainField(field, value), ['dueShard', { S: String(hashKey(key) % DUE_SHARDS) }]];
    // DynamoDB's TTL has seconds and deletes late.
    if (field === 'expires')
      return [...toPlainField(field, value), ['ttl', { N: String(Math.ceil(Number(value) / 1000)) }]];
    if (this.#compressed.has(field)) return [[field, isLarge(value) ? compress(value) : { S: JSON.stringify(value) }]];
    if (this.#immutable.has(field) && isLarge(value)) return [[field, compress(value)]];
    return toPlainField(field, value);
  }

  listAttributes(field: string): string[] {
    if (isIndexField(field)) return Object.values(INDEX_ATTRIBUTES[field]);
    return field === 'expires' ? ['expires', 'ttl'] : [field];
  }

  decode<T extends Item>(item: Attributes): T {
    const { [PACKED_ATTRIBUTE]: pack, ttl: _ttl, dueShard: _shard, ...rest } = item;
    const record: Record<string, unknown> = {};
    if (pack?.B) Object.assign(record, this.#decodeImmutable(decompress(pack.B), rest.pk?.S ?? ''));
    for (const [name, value] of Object.entries(rest)) {
      if (value.B) record[name] = decompress(value.B);
      else if (this.#compressed.has(name)) record[name] = JSON.parse(value.S ?? 'null');
      else if (!INDEX_ATTRIBUTE_NAMES.has(name)) record[name] = unmarshall(value);
    }
    for (const [field, { pk: p, sk: s }] of Object.entries(INDEX_ATTRIBUTES)) {
      const place = { ...(rest[p] && { pk: fromShardKey(rest[p].S) }), ...(rest[s] && { sk: rest[s].S }) };
      if (rest[p] || rest[s]) record[field] = place;
    }
    return toRecord(record);
  }
}

const INDEX_ATTRIBUTE_NAMES = new Set<string>(Object.values(INDEX_ATTRIBUTES).flatMap(({ pk: p, sk: s }) => [p, s]));

export const toRecord = <T extends Item>(record: Record<string, unknown>): T => record as unknown as T;

const toPlainField = (field: string, value: unknown): StoredField => [[field, marshall(value)]];
const toOptionalString = (value: unknown): AttributeValue | undefined =>
  typeof value === 'string' ? { S: value } : undefined;

/** The SDK fails on caller-chosen keys such as `constructor`. */
export const marshall = (value: unknown): AttributeValue => {
  if (typeof value === 'number' && !isStorableNumber(value)) return { SS: [String(value)] };
  if (Array.isArray(value)) return { L: value.filter((one) => one !== undefined).map(marshall) };
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return convertToAttr(value);
  const fields = Object.entries(value).filter(([, one]) => one !== undefined);
  return { M: Object.fromEntries(fields.map(([key, one]) => [encodeMapKey(key), marshall(one)])) };
};

const unmarshall = (value: AttributeValue): unknown => {
  if (value.SS) return Number(value.SS[0]);
  if (value.L) return value.L.map(unmarshall);
  if (!value.M) return convertToNative(value);
  return Object.fromEntries(Object.entries(value.M).map(([key, one]) => [decodeMapKey(key), unmarshall(one)]));
};

/** Beyond the range of the SDK or DynamoDB; stored as a string set, a type not used otherwise. */
const isStorableNumber = (value: number): boolean =>
  value === 0 || (Math.abs(value) <= Number.MAX_SAFE_INTEGER && Math.abs(value) >= MIN_NUMBER);
const MIN_NUMBER = 1e-130;

/** DynamoDB rejects an empty map key and the SDK loses `__proto__`: such keys get a `_`. */
export const encodeMapKey = (key: string): string => (RESERVED_MAP_KEY.test(key) ? `_${key}` : key);
const decodeMapKey = (key: string): string => (RESERVED_MAP_KEY.test(key) ? key.slice(1) : key);
const RESERVED_MAP_KEY = /^_*(__proto__)?$/;

/** Quality 5 in text mode: 100 µs and 53 % for 1 KB of JSON; higher levels gain little. */
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
};

const isPresent = (value: unknown): boolean => value !== null;
const isLarge = (value: unknown): boolean => JSON.stringify(value).length > MIN_COMPRESSED_BYTES;

const compress = (value: unknown): AttributeValue => ({ B: brotliCompressSync(JSON.stringify(value), BROTLI) });
const decompress = (bytes: Uint8Array): unknown => JSON.parse(brotliDecompressSync(bytes).toString());
