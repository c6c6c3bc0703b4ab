import { hash } from 'node:crypto';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { convertToAttr, convertToNative } from '@aws-sdk/util-dynamodb';
import type { Change } from '../../ports/conditions.ts';
import type { Fields, RecordMigration } from '../../ports/record-migration.ts';
import type { Item, Key } from '../../ports/records.ts';
import { AWAITED_ATTRIBUTE } from './awaited-attribute.ts';

export type Attributes = Record<string, AttributeValue>;

/**
 * How the fields of each kind of record are stored where nothing but the record's readers looks at them, by the sort key up to
 * the first `#`. DynamoDB bills every write by the size of the whole item, so that what is packed is paid for at about half its size.
 */
export type StorageSchema = Readonly<Record<string, KindSchema>>;

interface KindSchema {
  /** Given when the record is made, never part of a condition, never unset: packed together. */
  immutable: readonly string[];
  /** Never part of a condition: each by itself, as JSON, packed where it is large. */
  compressed: readonly string[];
  /** Fields by which records are listed, given when the record is made. The index of the lists has them, so they are not packed. */
  listed?: Readonly<Record<string, string>> | undefined;
  /** A record for which it is true is marked for those who read the stream. It looks at immutable fields alone. */
  awaited?: true | ((record: object) => boolean) | undefined;
  migration?: RecordMigration;
}

/** The same lists, and as sets. */
interface KindCodec {
  migration: RecordMigration | undefined;
  order: readonly string[];
  immutable: ReadonlySet<string>;
  compressed: ReadonlySet<string>;
  listed: Readonly<Record<string, string>> | undefined;
  isAwaited: (record: object) => boolean;
}

const createKindCodec = ({ immutable, compressed, listed, migration, awaited }: KindSchema): KindCodec => {
  const apart = Object.values(listed ?? {});
  return {
    migration,
    order: immutable,
    immutable: new Set(immutable.filter((field) => !apart.includes(field))),
    compressed: new Set(compressed),
    listed,
    isAwaited: typeof awaited === 'function' ? awaited : () => false,
  };
};

/** Of the engine's own records, which have numbers and names for sort keys, only events are large. */
const ENGINE_RECORDS = createKindCodec({ immutable: [], compressed: ['batch'] });

/** The attribute that holds the fixed fields. */
const PACKED_ATTRIBUTE = 'z';
/** Stands for what the key says already. No fixed field is ever zero. */
const IMPLIED_BY_KEY = 0;
const parseKeyFields = ({ pk }: Pick<Key, 'pk'>): Record<string, unknown> => {
  const [project, , id] = pk.split('#');
  return { project, id };
};

/** Below this, packing gains nothing. */
const MIN_COMPRESSED_BYTES = 64;

export const INDEX_ATTRIBUTES = {
  byList: { pk: 'byListPk', sk: 'byListSk' },
  byHolder: { pk: 'byHolderPk', sk: 'byHolderSk' },
} as const;

/** Of the index of all records of a kind by their time. It never changes, so a change of the record costs nothing there. */
export const LIST_ATTRIBUTES = { pk: 'lp', sk: 'ls' } as const;

const isIndexField = (field: string): field is keyof typeof INDEX_ATTRIBUTES => Object.hasOwn(INDEX_ATTRIBUTES, field);

/** The due-index is read shard by shard; a record stays in its shard. */
export const DUE_SHARDS = 64;

/**
 * A partition takes 1,000 write units a second. The places of an index are spread over four each, so that a busy agent has
 * four times that for its inbox and as much for what it holds.
 */
export const INDEX_SHARDS = 4;
export const listShardKeys = (p: string): string[] =>
  Array.from({ length: INDEX_SHARDS }, (_, shard) => `${p}#${shard}`);
const toShardKey = (p: unknown, key: Key): string | undefined =>
  typeof p === 'string' ? `${p}#${hashKey(key) % INDEX_SHARDS}` : undefined;
const fromShardKey = (p: string | undefined): string | undefined => p?.slice(0, p.lastIndexOf('#'));

const hashKey = ({ pk, sk }: Key): number => hash('sha256', `${pk} ${sk}`, 'buffer').readUInt32BE();

/** 48 bits of a hash keep records of one millisecond apart. */
const encodeListPlace = (record: Key & { createdAt?: unknown }): Attributes => {
  const p = record.pk.split('#', 2).join('#');
  const apart = hash('sha256', record.pk, 'base64url').slice(0, 8);
  return {
    [LIST_ATTRIBUTES.pk]: { S: `${p}#${hashKey(record) % INDEX_SHARDS}` },
    [LIST_ATTRIBUTES.sk]: { S: `${String(record.createdAt).padStart(14, '0')}#${apart}` },
  };
};

/** What is stored for one field that is set. An attribute without a value is to be removed. */
type StoredField = [attribute: string, value: AttributeValue | undefined][];

/** Between the records of the port and the items of the table. */
export class ItemCodec {
  readonly #kinds: ReadonlyMap<string, KindCodec>;

  constructor(schema: StorageSchema) {
    this.#kinds = new Map(Object.entries(schema).map(([kind, fields]) => [kind, createKindCodec(fields)]));
  }

  #getKind(sk: string): KindCodec {
    return this.#kinds.get(sk) ?? this.#kinds.get(sk.split('#', 1)[0] ?? '') ?? ENGINE_RECORDS;
  }

  /** The fields that the index of the lists has. */
  getListedFields(kind: string): Readonly<Record<string, string>> {
    return this.#getKind(kind).listed ?? {};
  }

  /** A whole new item. */
  encode(present: Key & object): Attributes {
    const { order, immutable, listed, migration, isAwaited } = this.#getKind(present.sk);
    const record = migration ? { ...present, ...migration.downgrade({ ...present }) } : present;
    const fields = Object.entries(record).filter(([, value]) => value !== undefined);
    const implied = parseKeyFields(record);
    const fixed = order.map((field) => {
      const value: unknown = (immutable.has(field) ? Reflect.get(record, field) : null) ?? null;
      return value !== null && value === implied[field] ? IMPLIED_BY_KEY : value;
    });
    const isPacked = isLarge(fields.filter(([field]) => immutable.has(field)));
    const item: Attributes = isPacked
      ? { [PACKED_ATTRIBUTE]: compress(fixed.slice(0, fixed.findLastIndex(isPresent) + 1)) }
      : {};
    for (const [field, value] of fields) {
      if (isPacked && immutable.has(field)) continue;
      for (const [name, stored] of this.encodeField(record, field, value)) if (stored) item[name] = stored;
    }
    if (isAwaited(present)) item[AWAITED_ATTRIBUTE] = { N: '1' };
    return listed ? Object.assign(item, encodeListPlace(record)) : item;
  }

  /** They are stored without their names, in their order. */
  #decodeImmutable({ order }: KindCodec, values: unknown, pk: string): object {
    const all: unknown[] = Array.isArray(values) ? values : [];
    const implied = parseKeyFields({ pk });
    const named = order.map((field, index) => [field, all[index] === IMPLIED_BY_KEY ? implied[field] : all[index]]);
    return Object.fromEntries(named.filter(([, value]) => value !== null && value !== undefined));
  }

  /** The fields of a change, and those that functions of an earlier deployment read instead. */
  expandChange({ sk }: Key, { set = {}, unset = [] }: Change): { set: Fields; unset: string[] } {
    const { migration } = this.#getKind(sk);
    if (!migration) return { set, unset };
    const earlier = migration.downgrade({ ...Object.fromEntries(unset.map((field) => [field, undefined])), ...set });
    const gone = Object.keys(earlier).filter((field) => earlier[field] === undefined);
    return { set: { ...set, ...earlier }, unset: [...unset, ...gone] };
  }

  /** The attributes of one top-level field. */
  encodeField(key: Key, field: string, value: unknown): StoredField {
    if (isIndexField(field)) {
      const { pk: p, sk: s } = INDEX_ATTRIBUTES[field];
      const indexKey = Object(value);
      return [
        [p, toOptionalString(toShardKey(indexKey.pk, key))],
        [s, toOptionalString(indexKey.sk)],
      ];
    }
    if (field === 'due') return [...toPlainField(field, value), ['dueShard', { S: String(hashKey(key) % DUE_SHARDS) }]];
    // DynamoDB removes by seconds, and only some time after; until then the record itself tells that it has expired.
    if (field === 'expires')
      return [...toPlainField(field, value), ['ttl', { N: String(Math.ceil(Number(value) / 1000)) }]];
    const { immutable, compressed } = this.#getKind(key.sk);
    if (compressed.has(field)) return [[field, isLarge(value) ? compress(value) : { S: JSON.stringify(value) }]];
    if (immutable.has(field) && isLarge(value)) return [[field, compress(value)]];
    return toPlainField(field, value);
  }

  /** The attributes that go with a field that is unset. */
  listAttributes(field: string): string[] {
    if (isIndexField(field)) return Object.values(INDEX_ATTRIBUTES[field]);
    return field === 'expires' ? ['expires', 'ttl'] : [field];
  }

  decode<T extends Item>(item: Attributes): T {
    const { [PACKED_ATTRIBUTE]: pack, [AWAITED_ATTRIBUTE]: _awaited, ttl: _ttl, ...stored } = item;
    const { dueShard: _shard, lp: _place, ls: _time, ...rest } = stored;
    const kind = this.#getKind(rest.sk?.S ?? '');
    const record: Record<string, unknown> = {};
    if (pack?.B) Object.assign(record, this.#decodeImmutable(kind, decompress(pack.B), rest.pk?.S ?? ''));
    for (const [name, value] of Object.entries(rest)) {
      if (value.B) record[name] = decompress(value.B);
      else if (kind.compressed.has(name)) record[name] = JSON.parse(value.S ?? 'null');
      else if (!INDEX_ATTRIBUTE_NAMES.has(name)) record[name] = unmarshall(value);
    }
    for (const [field, { pk: p, sk: s }] of Object.entries(INDEX_ATTRIBUTES)) {
      const indexKey = { ...(rest[p] && { pk: fromShardKey(rest[p].S) }), ...(rest[s] && { sk: rest[s].S }) };
      if (rest[p] || rest[s]) record[field] = indexKey;
    }
    return toRecord(kind.migration?.upgrade(record) ?? record);
  }
}

const INDEX_ATTRIBUTE_NAMES = new Set<string>(Object.values(INDEX_ATTRIBUTES).flatMap(({ pk: p, sk: s }) => [p, s]));

/** The table holds what this engine wrote, and nothing else writes to it. */
export const toRecord = <T extends Item>(record: Fields): T => record as unknown as T;

const toPlainField = (field: string, value: unknown): StoredField => [[field, marshall(value)]];
const toOptionalString = (value: unknown): AttributeValue | undefined =>
  typeof value === 'string' ? { S: value } : undefined;

/** Maps and lists are walked here: the SDK stumbles over keys that callers chose and that every object has, such as `constructor`. */
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
  // DynamoDB Local omits the type of an empty map in its stream, and LocalStack hands that on.
  if (Object.keys(value).length === 0) return {};
  if (!value.M) return convertToNative(value);
  return Object.fromEntries(Object.entries(value.M).map(([key, one]) => [decodeMapKey(key), unmarshall(one)]));
};

/** The SDK takes no larger ones, and DynamoDB none that are nearer to zero: those are sets of one text, which nothing else is. */
const isStorableNumber = (value: number): boolean =>
  value === 0 || (Math.abs(value) <= Number.MAX_SAFE_INTEGER && Math.abs(value) >= MIN_NUMBER);
const MIN_NUMBER = 1e-130;

/** DynamoDB takes no empty key in a map, and the SDK loses `__proto__`: those, and what looks like them, have one `_` more there. */
export const encodeMapKey = (key: string): string => (RESERVED_MAP_KEY.test(key) ? `_${key}` : key);
const decodeMapKey = (key: string): string => (RESERVED_MAP_KEY.test(key) ? key.slice(1) : key);
const RESERVED_MAP_KEY = /^_*(__proto__)?$/;

/** A kilobyte of JSON becomes 47 % in 1 ms at quality 10, which finds words in its dictionary, and 54 % in 0.1 ms at quality 5. */
const FINE_QUALITY = 10;
const FAST_QUALITY = 5;
/** Content of 4 KB, which is what a record has at most, with the fields beside it. Larger values, such as batches of events, would take too long. */
const MAX_FINE_LENGTH = 6144;

const isPresent = (value: unknown): boolean => value !== null;
const isLarge = (value: unknown): boolean => JSON.stringify(value).length > MIN_COMPRESSED_BYTES;

const compress = (value: unknown): AttributeValue => {
  const json = JSON.stringify(value);
  const quality = json.length <= MAX_FINE_LENGTH ? FINE_QUALITY : FAST_QUALITY;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  };
  return { B: brotliCompressSync(json, { params }) };
};
const decompress = (bytes: Uint8Array): unknown => JSON.parse(brotliDecompressSync(bytes).toString());
