import type { Lists } from './measure-lists.ts';
import { rounded } from './numbers.ts';
import { printTable } from './print-table.ts';

const ms = (value: number): string => `${rounded(value)} ms`;

export const printLists = ({ stored, costs }: Lists): void =>
  printTable(`GET /v1/tasks, one call, beside ${stored.toLocaleString('en')} tasks (target: under 50 ms)`, [
    ['query', 'found', 'p50', 'slowest of 20', 'p50 with count', 'count'],
    ...costs.map(({ query, found, p50Ms, maxMs, countedP50Ms, counted }) => [
      query === '' ? 'none' : query,
      String(found),
      ms(p50Ms),
      ms(maxMs),
      ms(countedP50Ms),
      counted,
    ]),
  ]);
