import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';

export type Row = Record<string, SQLOutputValue>;

export interface Table {
  name: string;
  columns: string[];
  key: [number: string] | [text: string, number: string];
}

interface Place {
  text: string;
  number: number;
}

/** Both ends are exclusive. */
interface Range {
  after: Place;
  before: Place;
}

/** Bounds the search behind damaged pages to some seconds. */
const MOST_STEPS = 50_000;
const BEYOND = 8192;
const FIRST = { text: '', number: -1 };
const LAST = { text: '~', number: Number.MAX_SAFE_INTEGER };

/** Yields some rows twice. Damage ends a scan, so it continues from the other end, then bisects the gap. */
export const readAround = (
  from: DatabaseSync,
  table: Table,
  highest: number | undefined,
  take: (row: Row) => void,
): string | undefined => {
  const scan = attempt(() => prepareScan(from, table, take));
  if (typeof scan === 'string') return scan;
  const first = passThrough(scan, { after: FIRST, before: LAST });
  if (!first.gap) return first.why;
  const { after, before } = first.gap;
  const end = Math.max(highest ?? 0, first.highest) + (highest === undefined ? BEYOND : 1);
  const isNumbered = table.key.length === 1;
  const ranges = [{ after, before: before === LAST && isNumbered ? { ...after, number: end } : before }];
  // Widest gap first: the limit leaves out the least.
  for (let at = 0; at < Math.min(ranges.length, MOST_STEPS); at++) {
    const range = ranges[at];
    const { gap } = range ? passThrough(scan, range) : {};
    if (gap) ranges.push(...splitInHalves(gap, end));
  }
  return first.why;
};

/** Never wraps writes: a full disk must not look like damage. */
export const attempt = <T>(read: () => T): T | string => {
  try {
    return read();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

type Scan = (range: Range, order: 'ASC' | 'DESC') => { last?: Place; highest: number; why?: string };

const prepareScan = (from: DatabaseSync, { name, columns, key }: Table, take: (row: Row) => void): Scan => {
  const [keys, marks] = [key.join(', '), key.map(() => '?').join(', ')];
  const prepared = (order: string) =>
    from.prepare(
      `SELECT ${columns.join(', ')} FROM ${name} WHERE (${keys}) > (${marks}) AND (${keys}) < (${marks})
       ORDER BY ${key.map((column) => `${column} ${order}`).join(', ')}`,
    );
  const statements = { ASC: prepared('ASC'), DESC: prepared('DESC') };
  const listValues = ({ text, number }: Place): SQLInputValue[] => (key.length === 1 ? [number] : [text, number]);
  return ({ after, before }, order) => {
    let last: Place | undefined;
    let highest = 0;
    const rows = statements[order].iterate(...listValues(after), ...listValues(before));
    for (;;) {
      const next = attempt(() => rows.next());
      if (typeof next === 'string') {
        // A failed statement reports its error once more on the next use.
        attempt(() => statements[order].get(...listValues(after), ...listValues(after)));
        return { last, highest, why: next };
      }
      if (next.done || !next.value) return { last, highest };
      const row: Row = next.value;
      take(row);
      last = { text: key.length === 1 ? '' : String(row[key[0]]), number: Number(row[key.at(-1) ?? '']) };
      highest = Math.max(highest, last.number);
    }
  };
};

const passThrough = (scan: Scan, range: Range): { gap?: Range; why?: string; highest: number } => {
  const forth = scan(range, 'ASC');
  if (forth.why === undefined) return forth;
  const after = forth.last ?? range.after;
  const back = scan({ after, before: range.before }, 'DESC');
  const highest = Math.max(forth.highest, back.highest);
  if (back.why === undefined) return { why: forth.why, highest };
  return { gap: { after, before: back.last ?? range.before }, why: forth.why, highest };
};

const splitInHalves = ({ after, before }: Range, end: number): Range[] => {
  if (after.text === before.text) {
    if (before.number - after.number <= 2) return [];
    const number = Math.floor((after.number + before.number) / 2);
    return [
      { after, before: { ...after, number: number + 1 } },
      { after: { ...after, number }, before },
    ];
  }
  const between = textBetween(after.text, before.text);
  const cuts = [
    after.number < end ? [{ text: after.text, number: end }] : [],
    between === undefined ? [] : [{ text: between, number: -1 }],
    before.number >= 0 ? [{ text: before.text, number: -1 }] : [],
  ].flat();
  const places = [after, ...cuts, before];
  return cuts.length === 0
    ? []
    : cuts.concat(before).map((place, at) => ({ after: places[at] ?? after, before: place }));
};

const textBetween = (one: string, other: string): string | undefined => {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [low, high] = [one.charCodeAt(at) || 31, other.charCodeAt(at) || 31];
  if (high - low > 1) return one.slice(0, at) + String.fromCharCode((low + high) >> 1);
  const next = one.charCodeAt(at + 1) || 31;
  return at >= one.length || next >= 126 ? undefined : one.slice(0, at + 1) + String.fromCharCode((next + 128) >> 1);
};
