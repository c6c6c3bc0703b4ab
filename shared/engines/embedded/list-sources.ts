import type { SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Condition } from '../../ports/conditions.ts';
import type { ListedFields } from '../../ports/lists.ts';

/** A place in a list, which has the newest first. */
export interface Place {
  created: number;
  id: number;
}

/** A match, or a place before which there is none: then the seeks of the call are spent. */
export interface FoundPlace extends Place {
  isMatch: boolean;
}

/** Finds the first match at a place or behind it. */
export type Source = (at: Place) => FoundPlace | undefined;

export const INDEXED_FIELDS = [
  'status',
  'type',
  'requester',
  'addressee',
  'holder',
  'domain',
  'conversation',
  'error',
] as const satisfies (keyof ListedFields)[];
export type IndexedField = (typeof INDEXED_FIELDS)[number];

export interface SeekContext {
  scope: string;
  seeksLeft: number;
  getStatement: (field: IndexedField | 'created') => StatementSync;
}

const isBefore = (a: Place, b: Place): boolean => a.created > b.created || (a.created === b.created && a.id > b.id);

/** Rows that one statement reads where each is asked for in turn. Where the reader leaps, it reads one. */
const MAX_ROWS_PER_SEEK = 64;

const seekEntry = (context: SeekContext, field: IndexedField | 'created', value: string | undefined): Source => {
  const statement = context.getStatement(field);
  const fixed = value === undefined ? [context.scope] : [context.scope, value];
  let rows: Place[] = [];
  let next = 0;
  let size = 1;
  return (at) => {
    const first = next;
    for (let row = rows[next]; row && isBefore(row, at); row = rows[next]) next += 1;
    const known = rows[next];
    if (known) return { ...known, isMatch: true };
    if (rows.length > 0 && rows.length < size) return undefined;
    if (context.seeksLeft <= 0) return { ...at, isMatch: false };
    const hasLeapt = rows.length === 0 || next - first > 1;
    size = hasLeapt ? 1 : Math.min(2 * size, MAX_ROWS_PER_SEEK);
    context.seeksLeft -= size === 1 ? 1 : size / 4;
    rows = statement.all(...fixed, at.created, at.id, size).map(toPlace);
    next = 0;
    const [found] = rows;
    return found && { ...found, isMatch: true };
  };
};

const toPlace = ({ created, id }: Record<string, SQLOutputValue>): Place => ({
  created: Number(created),
  id: Number(id),
});

/** Each source in turn goes on from where the others are: the rarest decides how often. */
const intersect = (sources: Source[]): Source => {
  const [only] = sources;
  if (only && sources.length === 1) return only;
  return (start) => {
    let at = start;
    for (let agreed = 0, turn = 0; agreed < sources.length; turn = (turn + 1) % sources.length) {
      const found = sources[turn]?.(at);
      if (!found?.isMatch) return found;
      agreed = isBefore(at, found) ? 1 : agreed + 1;
      at = found;
    }
    return { ...at, isMatch: true };
  };
};

/** A match that is not reached yet is not looked for again: places only go on. */
const unite = (sources: Source[]): Source => {
  const heads: (FoundPlace | undefined | 'unknown')[] = sources.map(() => 'unknown');
  return (at) => {
    let first: FoundPlace | undefined;
    for (const [turn, source] of sources.entries()) {
      const known = heads[turn];
      const isAhead = known === undefined || (known !== 'unknown' && known.isMatch && !isBefore(known, at));
      const found = isAhead ? known : source(at);
      heads[turn] = found;
      if (found && (!first || isBefore(found, first) || (!isBefore(first, found) && !first.isMatch))) first = found;
    }
    return first;
  };
};

/** Undefined for a condition that no index has: its matches are among those of the others. */
const toSource = (context: SeekContext, condition: Condition): Source | undefined => {
  if ('all' in condition) {
    const sources = condition.all.flatMap((part) => toSource(context, part) ?? []);
    return sources.length > 0 ? intersect(sources) : undefined;
  }
  if ('any' in condition) {
    const sources = condition.any.map((part) => toSource(context, part));
    return sources.every((source) => source !== undefined) ? unite(sources) : undefined;
  }
  const field = INDEXED_FIELDS.find((name) => name === condition.field);
  if (!field) return undefined;
  if ('is' in condition) return seekEntry(context, field, String(condition.is));
  if ('oneOf' in condition) return unite(condition.oneOf.map((value) => seekEntry(context, field, String(value))));
  return undefined;
};

export const buildSource = (context: SeekContext, where: Condition): Source =>
  toSource(context, where) ?? seekEntry(context, 'created', undefined);

/** Whether the sources find matches alone, so that they can be counted without a look at the records. */
export const isIndexed = (condition: Condition): boolean => {
  if ('all' in condition) return condition.all.every(isIndexed);
  if ('any' in condition) return condition.any.every(isIndexed);
  return ('is' in condition || 'oneOf' in condition) && INDEXED_FIELDS.some((name) => name === condition.field);
};
