import type { DialectSpeed } from './measure-dialects.ts';
import type { Growth } from './measure-growth.ts';
import type { Stall } from './measure-stalls.ts';
import { rounded } from './numbers.ts';
import { printTable } from './print-table.ts';

const ms = (value: number): string => `${rounded(value, 3)} ms`;

export const printDialects = (speeds: DialectSpeed[]): void =>
  printTable('Recognising, checking and decoding one message (target: 0.1 ms median)', [
    ['', 'bytes', 'p50', 'p99'],
    ...speeds.map(({ dialect, bytes, p50Ms, p99Ms }) => [dialect, String(bytes), ms(p50Ms), ms(p99Ms)]),
  ]);

/** Medians of the domain's calls and rows. */
export const printGrowth = (growth: Growth[]): void => {
  const sizes = growth[0]?.at.map(({ size }) => size.toLocaleString('en')) ?? [];
  printTable('What an operation costs beside so many agents, stored tasks and unread messages (target: the same)', [
    ['', ...sizes.map((size) => `calls, rows at ${size}`), ...sizes.map((size) => `p50 at ${size}`), 'ratio'],
    ...growth.map(({ operation, at }) => [
      operation,
      ...at.map(({ calls, rows }) => `${calls}, ${rows}`),
      ...at.map(({ p50Ms }) => ms(p50Ms)),
      rounded((at.at(-1)?.p50Ms ?? Number.NaN) / (at[0]?.p50Ms ?? Number.NaN)).toString(),
    ]),
  ]);
};

export const printStalls = (stalls: Stall[]): void =>
  printTable('The longest stall by one request, at the size that its call allows (target: 3 × JSON.parse)', [
    ['', 'bytes', 'stall', 'JSON.parse', 'ratio', 'of', 'at'],
    ...stalls.map(({ route, limit, stallMs, parseMs, ratio, shape, at }) => [
      route,
      String(limit),
      ms(stallMs),
      ms(parseMs),
      String(rounded(ratio, 1)),
      shape,
      at,
    ]),
  ]);
