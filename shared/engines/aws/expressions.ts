import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Change, Condition } from '../../ports/conditions.ts';
import type { Key } from '../../ports/records.ts';
import { INDEX_ATTRIBUTES, marshalled, type Shelf, storedKey } from './attributes.ts';

/** The names and values of one request's expressions. */
export class Expression {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, AttributeValue> = {};
  readonly #known = new Map<string, string>();

  /** A path of the port, `status` or `waiting.call-1`, as the expression writes it. */
  path(path: string): string {
    const dot = path.indexOf('.');
    if (dot < 0) return this.#name(path);
    const [map, key] = [path.slice(0, dot), path.slice(dot + 1)];
    const index = Object.entries(INDEX_ATTRIBUTES).find(([name]) => name === map)?.[1];
    if (index) return this.#name(key === 'p' ? index.p : index.s);
    return `${this.#name(map)}.${this.#name(storedKey(key))}`;
  }

  value(value: unknown): string {
    return this.stored(marshalled(value));
  }

  stored(value: AttributeValue): string {
    const placeholder = `:${Object.keys(this.values).length}`;
    this.values[placeholder] = value;
    return placeholder;
  }

  #name(name: string): string {
    const known = this.#known.get(name);
    if (known) return known;
    const placeholder = `#${this.#known.size}`;
    this.#known.set(name, placeholder);
    this.names[placeholder] = name;
    return placeholder;
  }

  /** As a request takes them: an empty map of values is refused. */
  parts(): {
    ExpressionAttributeNames?: Record<string, string>;
    ExpressionAttributeValues?: Record<string, AttributeValue>;
  } {
    return {
      ...(Object.keys(this.names).length > 0 && { ExpressionAttributeNames: this.names }),
      ...(Object.keys(this.values).length > 0 && { ExpressionAttributeValues: this.values }),
    };
  }
}

/** The condition in DynamoDB's words. */
export const conditionText = (on: Expression, condition: Condition): string => {
  if ('all' in condition) return joined(on, condition.all, ' AND ', ALWAYS);
  if ('any' in condition) return joined(on, condition.any, ' OR ', NEVER);
  if ('oneOf' in condition && condition.oneOf.length === 0) return NEVER;
  const path = on.path(condition.field);
  if ('present' in condition) return `${condition.present ? 'attribute_exists' : 'attribute_not_exists'}(${path})`;
  if ('is' in condition) return `${path} = ${on.value(condition.is)}`;
  if ('isNot' in condition) return `(attribute_not_exists(${path}) OR ${path} <> ${on.value(condition.isNot)})`;
  if ('below' in condition) return `${path} < ${on.value(condition.below)}`;
  if ('above' in condition) return `${path} > ${on.value(condition.above)}`;
  const lists = [];
  for (let at = 0; at < condition.oneOf.length; at += MOST_IN_LIST) {
    const values = condition.oneOf.slice(at, at + MOST_IN_LIST).map((option) => on.value(option));
    lists.push(`${path} IN (${values.join(', ')})`);
  }
  return lists.length === 1 ? lists.join() : `(${lists.join(' OR ')})`;
};

/** DynamoDB compares with no more in one list. */
const MOST_IN_LIST = 100;

/** `pk` is in every item, and in none where there is no item. */
const ALWAYS = '(attribute_exists(pk) OR attribute_not_exists(pk))';
const NEVER = '(attribute_exists(pk) AND attribute_not_exists(pk))';

/** DynamoDB refuses parentheses that are not needed. */
const joined = (on: Expression, parts: Condition[], word: string, ofNone: string): string => {
  const [only] = parts;
  if (!only) return ofNone;
  return parts.length === 1 ? conditionText(on, only) : `(${parts.map((part) => conditionText(on, part)).join(word)})`;
};

export interface Stamp {
  token: string;
  at: number;
}

/** The change in DynamoDB's words; every write raises the version and leaves its token and its time. */
export const updateText = (on: Expression, shelf: Shelf, key: Key, change: Change, stamp: Stamp): string => {
  const set = [`${on.path('token')} = ${on.value(stamp.token)}`, `${on.path('at')} = ${on.value(stamp.at)}`];
  const remove: string[] = [];
  for (const [path, value] of Object.entries(change.set ?? {})) {
    if (value === undefined) continue;
    if (path.includes('.')) set.push(`${on.path(path)} = ${on.value(value)}`);
    else {
      for (const [name, stored] of shelf.field(key, path, value)) {
        if (stored) set.push(`${on.path(name)} = ${on.stored(stored)}`);
        else remove.push(on.path(name));
      }
    }
  }
  for (const path of change.unset ?? []) {
    if (path.includes('.')) remove.push(on.path(path));
    else for (const name of shelf.attributesOf(path)) remove.push(on.path(name));
  }
  for (const [path, amount] of Object.entries({ v: 1, ...change.add })) {
    // ADD would be shorter, but takes top-level attributes only.
    const name = on.path(path);
    set.push(`${name} = if_not_exists(${name}, ${on.value(0)}) + ${on.value(amount)}`);
  }
  return [`SET ${set.join(', ')}`, ...(remove.length > 0 ? [`REMOVE ${remove.join(', ')}`] : [])].join(' ');
};

/** A record that is there and has not expired keeps another from being made. */
export const absentText = (on: Expression, now: number): string =>
  `(attribute_not_exists(pk) OR ${on.path('expires')} <= ${on.value(now)})`;

export const presentText = (on: Expression, now: number): string => {
  const expires = on.path('expires');
  return `attribute_exists(pk) AND (attribute_not_exists(${expires}) OR ${expires} > ${on.value(now)})`;
};

/** A change meets the record that it is for, and not its own success: an answer may be lost, and the SDK tries again. */
export const changeableText = (on: Expression, change: Change, { token, at }: Stamp): string => {
  const fresh = `${presentText(on, at)} AND ${on.path('token')} <> ${on.value(token)}`;
  return change.if ? `${fresh} AND ${conditionText(on, change.if)}` : fresh;
};
