import { rounded } from '../numbers.ts';
import { printTable } from '../print-table.ts';
import { type Line, PARTS, totalOf } from './bill.ts';
import type { Bundle } from './measure-bundles.ts';
import type { IdleHour } from './measure-idle.ts';
import type { LivesResults, MeasuredLives } from './measure-lives.ts';
import type { LogCost } from './measure-log.ts';
import type { Stored } from './measure-stored.ts';
import { ELSEWHERE } from './prices.ts';
import type { Step } from './round-trips.ts';

export const printLog = ({ without, with: logged }: LogCost): void => {
  const parts = [...PARTS, undefined];
  const costs = ({ lines }: MeasuredLives): number[] => parts.map((part) => totalOf(lines, part).dollarsPerMillion);
  const [before, after] = [costs(without), costs(logged)];
  printTable('The log of messages, in dollars per million lives of three messages each', [
    ['', ...parts.map((part) => part ?? 'in all')],
    [without.label, ...before.map(dollars)],
    [logged.label, ...after.map(dollars)],
    ['the log', ...after.map((cost, at) => dollars(cost - (before[at] ?? 0)))],
  ]);
};

const number = (value: number): string => rounded(value).toLocaleString('en');

const dollars = (value: number): string => `$${value.toFixed(2)}`;
const kb = (bytes: number): string => `${Math.round(bytes / 1000)} KB`;
const ms = (value: number): string => `${Math.round(value)} ms`;

export const printLives = ({ rows, roundTrips }: LivesResults): void => {
  for (const row of rows) printBill(row);
  printTable('Dollars per million lives (targets: $18 one by one, $11 in batches, reading and logs included)', [
    ['', 'write units', 'refused', 'read units', 'SQS requests', 'invocations', 'log bytes', 'dollars'],
    ...rows.map(({ label, lines, logBytesPerLife, refusedWritesPerLife }) => [
      label,
      number(totalOf(lines, 'DynamoDB writes').perLife),
      refusedWritesPerLife.toFixed(2),
      number(totalOf(lines, 'DynamoDB reads').perLife),
      number(totalOf(lines, 'SQS').perLife),
      number(lines.find(({ what }) => what === 'invocations')?.perLife ?? 0),
      number(logBytesPerLife),
      dollars(totalOf(lines).dollarsPerMillion),
    ]),
    ...ELSEWHERE.map(({ name, dollars: price }) => [name, '', '', '', '', '', '', dollars(price)]),
  ]);
  const step = (label: string, { groups, writeUnits }: Step): string[] => [
    label,
    groups.map((group) => group.join(' + ')).join(', then '),
    Object.entries(writeUnits)
      .map(([place, units]) => `${place} ${units}`)
      .join(', '),
  ];
  printTable('Calls before the answer, and write units with those of the dispatcher', [
    ['', 'calls', 'write units'],
    step('request', roundTrips.request),
    step('request, key not seen for 5 s', roundTrips.requestAfterAPause),
    step('claim', roundTrips.claim),
    step('result', roundTrips.result),
    step('reading it', roundTrips.read),
  ]);
};

const printBill = ({ label, lives, lines, cpuGbSecondsPerLife, invocationsPerLife }: MeasuredLives): void => {
  const row = ({ part, what, perLife, dollarsPerMillion }: Line): string[] => [
    part,
    what,
    perLife < 0.1 ? perLife.toFixed(4) : number(perLife),
    dollars(dollarsPerMillion),
  ];
  const byFunction = Object.entries(invocationsPerLife).map(([name, count]) => `${name} ${number(count)}`);
  printTable(`A life, ${label} (of ${lives}; ${byFunction.join(', ')})`, [
    ['', '', 'per life', 'per million'],
    ...PARTS.flatMap((part) => lines.filter((line) => line.part === part)).map(row),
    ['', 'memory × CPU, in GB-seconds', cpuGbSecondsPerLife.toFixed(4), ''],
    ['', 'sum', '', dollars(totalOf(lines).dollarsPerMillion)],
  ]);
};

export const printStored = (stored: Stored[]): void => {
  const row = (count: number, { label, lines }: MeasuredLives): string[] => [
    count.toLocaleString('en'),
    label,
    ...PARTS.filter((part) => part !== 'Lambda').map((part) => number(totalOf(lines, part).perLife)),
    number(lines.find(({ what }) => what === 'invocations')?.perLife ?? 0),
    dollars(totalOf(lines).dollarsPerMillion),
  ];
  printTable('Units per life by how many tasks are stored (nothing may grow)', [
    ['stored', '', ...PARTS.filter((part) => part !== 'Lambda'), 'invocations', 'dollars'],
    ...stored.map((one) => row(one.stored, one.oneByOne)),
    ...stored.map((one) => row(one.stored, one.inBatches)),
  ]);
};

export const printIdle = (idle: IdleHour): void => {
  printTable('An idle hour', [
    ['', 'count', 'dollars'],
    [
      'sweeps',
      `60, each ${number(idle.sweep.readUnits)} read units, ${ms(idle.sweep.cpuMs)} of CPU`,
      perHour(idle.sweep),
    ],
    ...idle.polls.map((poll) => [`polls of ${poll.queue}`, number(poll.requests), perHour(poll)]),
    ['other calls', idle.otherCalls.join(', ') || `none in ${idle.seconds} s`, ''],
    ['sum', `${dollars(idle.dollarsAMonth)} a month`, perHour(idle)],
  ]);
};

const perHour = ({ dollars: price }: { dollars: number }): string => `$${price.toFixed(6)}`;

export const printBundles = (bundles: Bundle[]): void =>
  printTable('Bundles (targets for ingest: 500 KB, 120 ms)', [
    ['', 'loaded', 'loaded when needed', 'import, median', 'fastest', 'its CPU'],
    ...bundles.map((one) => [
      one.name,
      kb(one.loadedBytes),
      kb(one.lazyBytes),
      ms(one.importMs),
      ms(one.fastestImportMs),
      ms(one.importCpuMs),
    ]),
  ]);
