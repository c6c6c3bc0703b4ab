import { setTimeout as pause } from 'node:timers/promises';
import { removeFolder, temporaryFolder } from '../own-processes.ts';
import { billOf, isPoll, totalOf } from './bill.ts';
import { PRICES } from './prices.ts';
import { metered, type Site, startSite } from './site.ts';

/** Lambda polls an empty queue with five concurrent long polls of 20 s. */
const POLLS_AN_HOUR = (5 * 3600) / 20;
const SWEEPS_AN_HOUR = 60;
const HOURS_A_MONTH = 730;

export interface IdleHour {
  seconds: number;
  /** Should be empty. */
  otherCalls: string[];
  sweep: { dollars: number; readUnits: number; cpuMs: number };
  polls: { queue: string; requests: number; dollars: number }[];
  dollars: number;
  dollarsAMonth: number;
}

const WARM_UP_SWEEPS = 5;
const SWEEPS = 20;

export const measureIdle = async (seconds: number): Promise<IdleHour> => {
  const dir = temporaryFolder();
  const site = await startSite(dir);
  try {
    const idle = await metered(site, () => pause(seconds * 1000));
    const { sweep, sweepDollars } = await measureSweep(site);
    const queues = new Set(idle.calls.filter(isPoll).map(({ resource }) => resource));
    const polls = [...queues].map((queue) => ({
      queue,
      requests: POLLS_AN_HOUR,
      dollars: POLLS_AN_HOUR * (queue.endsWith('.fifo') ? PRICES.fifoRequest : PRICES.standardRequest),
    }));
    const dollars = polls.reduce((sum, poll) => sum + poll.dollars, sweepDollars * SWEEPS_AN_HOUR);
    return {
      seconds,
      otherCalls: idle.calls.filter((call) => !isPoll(call)).map(({ caller, operation }) => `${caller} ${operation}`),
      sweep: { ...sweep, dollars: sweepDollars * SWEEPS_AN_HOUR },
      polls,
      dollars,
      dollarsAMonth: dollars * HOURS_A_MONTH,
    };
  } finally {
    await site.stop();
    removeFolder(dir);
  }
};

const measureSweep = async (site: Site) => {
  const sweeps = async (times: number): Promise<void> => {
    for (let sweep = 0; sweep < times; sweep++) await site.running.invoke(site.running.findFunctionName('sweep'), {});
  };
  await sweeps(WARM_UP_SWEEPS);
  const reading = await metered(site, () => sweeps(SWEEPS));
  const own = { ...reading, calls: reading.calls.filter((call) => !isPoll(call)) };
  const lines = billOf(own, SWEEPS);
  const cpuMs = reading.invocations.reduce((sum, one) => sum + one.cpuMs, 0) / SWEEPS;
  const sweep = { readUnits: totalOf(lines, 'DynamoDB reads').perLife, cpuMs };
  return { sweep, sweepDollars: totalOf(lines).dollarsPerMillion / 1_000_000 };
};
