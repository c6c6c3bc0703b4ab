import { hash } from 'node:crypto';
import { isObject } from './json.ts';

/** Independent of key order, which another transport may change. */
export const computeFingerprint = (value: unknown): string =>
  // 132 of 256 bits exclude accidental collisions and save a third; records are billed by size.
  computeDigest(value).slice(0, 22);

/** All 256 bits, for content-addressed values: collision-resistant. */
export const computeDigest = (value: unknown): string => hash('sha256', toCanonicalJson(value), 'base64url');

/** Sorted keys, no white space. Takes about as long as JSON.parse. */
export const toCanonicalJson = (value: unknown): string => {
  const writer = new CanonicalWriter();
  writer.write(value);
  return writer.text;
};

/** For up to 16 keys an insertion sort takes a quarter of Array.sort's time. */
const FEW_KEYS = 16;
const MOST_QUOTED = 1000;

class CanonicalWriter {
  text = '';
  readonly #quoted = new Map<string, string>();

  write(value: unknown): void {
    if (typeof value === 'number') this.text += Number.isFinite(value) ? value : 'null';
    else if (typeof value === 'string') this.text += JSON.stringify(value);
    else if (typeof value === 'boolean') this.text += value;
    else if (Array.isArray(value)) this.#writeList(value);
    else if (isObject(value)) this.#writeObject(value);
    else this.text += 'null';
  }

  #writeList(list: unknown[]): void {
    if (list.every(isScalar)) {
      this.text += JSON.stringify(list);
      return;
    }
    let separator = '[';
    for (const item of list) {
      this.text += separator;
      separator = ',';
      this.write(item);
    }
    this.text += ']';
  }

  #writeObject(object: Record<string, unknown>): void {
    let separator = '{';
    for (const key of sortKeys(Object.keys(object))) {
      const member = object[key];
      if (member === undefined) continue;
      this.text += separator + this.#quote(key);
      separator = ',';
      this.write(member);
    }
    this.text += separator === '{' ? '{}' : '}';
  }

  #quote(key: string): string {
    const known = this.#quoted.get(key);
    if (known !== undefined) return known;
    const quoted = `${JSON.stringify(key)}:`;
    if (this.#quoted.size < MOST_QUOTED) this.#quoted.set(key, quoted);
    return quoted;
  }
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

const sortKeys = (keys: string[]): string[] => {
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at] ?? '';
    let to = at;
    for (; to > 0 && (keys[to - 1] ?? '') > key; to--) keys[to] = keys[to - 1] ?? '';
    keys[to] = key;
  }
  return keys;
};
