import type { Lists } from './measure-lists.ts';
import { rounded } from './numbers.ts';
import { printTable } from './print-table.ts';

const ms = (value: number): string => `${rounded(value)} ms`;

export const printLists = ({ stored, costs }: Lists): void =>
  printTable(`One call, beside ${stored.toLocaleString('en')} tasks and their events (target: under 50 ms)`, [
    ['GET', 'found', 'p50', 'slowest', 'its CPU', 'p50 with count', 'count'],
    ...costs.map(({ query, found, p50Ms, maxMs, maxCpuMs, countedP50Ms, counted }) => [
      query,
      String(found),
      ms(p50Ms),
      ms(maxMs),
      ms(maxCpuMs),
      countedP50Ms === undefined ? '' : ms(countedP50Ms),
      counted,
    ]),
  ]);
