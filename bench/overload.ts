import { lookAtMachine } from './machine.ts';
import type { Spread } from './overload/latencies.ts';
import { measureOverload, type Overloaded } from './overload/measure.ts';
import { HELP, type Mode, optionsFrom } from './overload/options.ts';
import { printTable } from './print-table.ts';

const spread = ({ p50, p99, max }: Spread): string => [p50, p99, max].map((ms) => Math.round(ms)).join(' / ');

const rowsOf = ({ flood, before, during, rssMb, ...rest }: Overloaded): string[][] => [
  ['', 'before', 'during the flood'],
  ['accepted a second', Math.round(rest.capacity).toString(), ''],
  ['sent', '', `${flood.sent} (${flood.withheld} more were due, and could not be sent)`],
  ['accepted', '', String(flood.accepted)],
  ['refused', '', JSON.stringify(flood.refused)],
  ['refused without Retry-After', '', String(flood.withoutRetryAfter)],
  ['unanswered; connections closed', '', `${flood.unanswered}; ${flood.closed}`],
  ['accepted, ms from its sending (p50 / p99 / max)', '', spread(flood.acceptedMs)],
  ['another key: task cycle, ms', spread(before.cycles), spread(during.cycles)],
  [
    'another key: cycles; refused; failed',
    '',
    `${during.cycles.count}; ${during.cyclesRefused}; ${during.cyclesFailed}`,
  ],
  ['/healthz, ms', spread(before.healthz), spread(during.healthz)],
  ['/healthz: asked; failed', '', `${during.healthz.count}; ${during.healthzFailed}`],
  ['memory, MB', String(rssMb.before), `${rssMb.most} at most, ${rssMb.after} after`],
  ['recovered after, ms', '', rest.recoveredMs === undefined ? 'not in time' : String(Math.round(rest.recoveredMs))],
  ['acknowledged and lost, after kill -9', '', `${rest.lost} of ${rest.looked}`],
];

const measureAll = async (modes: Mode[], options: Exclude<ReturnType<typeof optionsFrom>, 'help'>): Promise<void> => {
  console.log(JSON.stringify(lookAtMachine()));
  for (const mode of modes) {
    const measured = await measureOverload(mode, options);
    printTable(`${mode.label}, ${options.factor} times the capacity for ${options.seconds} s`, rowsOf(measured));
  }
};

const options = optionsFrom(process.argv.slice(2));
if (options === 'help') process.stdout.write(HELP);
else await measureAll(options.modes, options);
