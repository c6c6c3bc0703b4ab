import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Change, Condition } from '../../ports/conditions.ts';
import type { Key } from '../../ports/records.ts';
import { encodeMapKey, INDEX_ATTRIBUTES, type ItemCodec, marshall } from './item-codec.ts';

export class ExpressionBuilder {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, AttributeValue> = {};
  readonly #placeholders = new Map<string, string>();

  addPath(path: string): string {
    const dot = path.indexOf('.');
    if (dot < 0) return this.#addName(path);
    const [map, key] = [path.slice(0, dot), path.slice(dot + 1)];
    const index = Object.entries(INDEX_ATTRIBUTES).find(([name]) => name === map)?.[1];
    if (index) return this.#addName(key === 'pk' ? index.pk : index.sk);
    return `${this.#addName(map)}.${this.#addName(encodeMapKey(key))}`;
  }

  addValue(value: unknown): string {
    return this.addAttribute(marshall(value));
  }

  addAttribute(value: AttributeValue): string {
    const placeholder = `:${Object.keys(this.values).length}`;
    this.values[placeholder] = value;
    return placeholder;
  }

  #addName(name: string): string {
    const known = this.#placeholders.get(name);
    if (known) return known;
    const placeholder = `#${this.#placeholders.size}`;
    this.#placeholders.set(name, placeholder);
    this.names[placeholder] = name;
    return placeholder;
  }

  /** DynamoDB rejects an empty map of values. */
  build(): {
    ExpressionAttributeNames?: Record<string, string>;
    ExpressionAttributeValues?: Record<string, AttributeValue>;
  } {
    return {
      ...(Object.keys(this.names).length > 0 && { ExpressionAttributeNames: this.names }),
      ...(Object.keys(this.values).length > 0 && { ExpressionAttributeValues: this.values }),
    };
  }
}

export const buildCondition = (on: ExpressionBuilder, condition: Condition): string => {
  if ('all' in condition) return joinConditions(on, condition.all, ' AND ', ALWAYS);
  if ('any' in condition) return joinConditions(on, condition.any, ' OR ', NEVER);
  if ('oneOf' in condition && condition.oneOf.length === 0) return NEVER;
  const path = on.addPath(condition.field);
  if ('present' in condition) return `${condition.present ? 'attribute_exists' : 'attribute_not_exists'}(${path})`;
  if ('is' in condition) return `${path} = ${on.addValue(condition.is)}`;
  if ('isNot' in condition) return `(attribute_not_exists(${path}) OR ${path} <> ${on.addValue(condition.isNot)})`;
  if ('below' in condition) return `${path} < ${on.addValue(condition.below)}`;
  if ('above' in condition) return `${path} > ${on.addValue(condition.above)}`;
  const lists = [];
  for (let at = 0; at < condition.oneOf.length; at += MAX_IN_LIST) {
    const values = condition.oneOf.slice(at, at + MAX_IN_LIST).map((option) => on.addValue(option));
    lists.push(`${path} IN (${values.join(', ')})`);
  }
  return lists.length === 1 ? lists.join() : `(${lists.join(' OR ')})`;
};

/** DynamoDB's limit for IN. */
const MAX_IN_LIST = 100;

/** True for every item and for no item. */
const ALWAYS = '(attribute_exists(pk) OR attribute_not_exists(pk))';
const NEVER = '(attribute_exists(pk) AND attribute_not_exists(pk))';

/** DynamoDB rejects redundant parentheses. */
const joinConditions = (on: ExpressionBuilder, parts: Condition[], word: string, ofNone: string): string => {
  const [only] = parts;
  if (!only) return ofNone;
  return parts.length === 1
    ? buildCondition(on, only)
    : `(${parts.map((part) => buildCondition(on, part)).join(word)})`;
};

export interface WriteStamp {
  token: string;
  at: number;
}

export const buildUpdate = (
  on: ExpressionBuilder,
  codec: ItemCodec,
  key: Key,
  change: Change,
  stamp: WriteStamp,
): string => {
  const set = [
    `${on.addPath('token')} = ${on.addValue(stamp.token)}`,
    `${on.addPath('at')} = ${on.addValue(stamp.at)}`,
  ];
  const remove: string[] = [];
  const fields = codec.expandChange(key, change);
  for (const [path, value] of Object.entries(fields.set)) {
    if (value === undefined) continue;
    if (path.includes('.')) set.push(`${on.addPath(path)} = ${on.addValue(value)}`);
    else {
      for (const [name, stored] of codec.encodeField(key, path, value)) {
        if (stored) set.push(`${on.addPath(name)} = ${on.addAttribute(stored)}`);
        else remove.push(on.addPath(name));
      }
    }
  }
  for (const path of fields.unset) {
    if (path.includes('.')) remove.push(on.addPath(path));
    else for (const name of codec.listAttributes(path)) remove.push(on.addPath(name));
  }
  for (const [path, amount] of Object.entries({ v: 1, ...change.add })) {
    // ADD would be shorter but accepts only top-level attributes.
    const name = on.addPath(path);
    set.push(`${name} = if_not_exists(${name}, ${on.addValue(0)}) + ${on.addValue(amount)}`);
  }
  return [`SET ${set.join(', ')}`, ...(remove.length > 0 ? [`REMOVE ${remove.join(', ')}`] : [])].join(' ');
};

export const buildAbsentCondition = (on: ExpressionBuilder, now: number): string =>
  `(attribute_not_exists(pk) OR ${on.addPath('expires')} <= ${on.addValue(now)})`;

export const buildPresentCondition = (on: ExpressionBuilder, now: number): string => {
  const expires = on.addPath('expires');
  return `attribute_exists(pk) AND (attribute_not_exists(${expires}) OR ${expires} > ${on.addValue(now)})`;
};

/** Excludes its own token: a retry after a lost answer must not apply twice. */
export const buildUpdateCondition = (on: ExpressionBuilder, change: Change, { token, at }: WriteStamp): string => {
  const fresh = `${buildPresentCondition(on, at)} AND ${on.addPath('token')} <> ${on.addValue(token)}`;
  return change.if ? `${fresh} AND ${buildCondition(on, change.if)}` : fresh;
};
