import { removeFolder, temporaryFolder } from '../own-processes.ts';
import { billOf, type Line, withoutPolls } from './bill.ts';
import { CONTENTS, type Content } from './content.ts';
import { alone, inBatches, oneByOne } from './lives.ts';
import { bytesOfLogs } from './log-lines.ts';
import type { Counts } from './options.ts';
import { quiet } from './quiet.ts';
import { type RoundTrips, roundTripsOf } from './round-trips.ts';
import { metered, type Site, startSite } from './site.ts';

/** By default, the bus is told how a task ended. */
const EVENTS_PER_LIFE = 1;

export interface MeasuredLives {
  label: string;
  lives: number;
  lines: Line[];
  /** Memory × CPU, as if each function had a whole core. */
  cpuGbSecondsPerLife: number;
  logBytesPerLife: number;
  refusedWritesPerLife: number;
  invocationsPerLife: Record<string, number>;
}

export interface LivesResults {
  rows: MeasuredLives[];
  roundTrips: RoundTrips;
}

type Live = (site: Site, lives: number, content: Content) => Promise<void>;

export const measureRow = async (site: Site, label: string, lives: number, content: Content, live: Live) => {
  const logged = site.logged();
  const reading = await metered(site, async () => {
    await live(site, lives, content);
    await quiet(site, lives * EVENTS_PER_LIFE);
  });
  const { invocations, httpRequests } = reading;
  const logBytes = bytesOfLogs(logged, site.logged(), httpRequests);
  const measured: MeasuredLives = {
    label,
    lives,
    lines: billOf(withoutPolls(reading), lives, logBytes),
    cpuGbSecondsPerLife: invocations.reduce((sum, { cpuGbSeconds }) => sum + cpuGbSeconds, 0) / lives,
    logBytesPerLife: logBytes / lives,
    refusedWritesPerLife: reading.calls.reduce((sum, { refused }) => sum + refused, 0) / lives,
    invocationsPerLife: Object.fromEntries(invocations.map((one) => [one.functionName, one.invocations / lives])),
  };
  console.error(`  … ${lives} lives, ${label}`);
  return measured;
};

/** Each step is dispatched before the next one: the cost at low load. */
const sparse: Live = (site, lives, content) => alone(site, lives, content, () => quiet(site));

export const measureLives = async ({ lives, warmUp, sparseLives }: Counts): Promise<LivesResults> => {
  const dir = temporaryFolder();
  const site = await startSite(dir);
  try {
    const { text, noise, shortResult } = CONTENTS;
    await measureRow(site, 'to warm up', warmUp, text, oneByOne);
    const rows = [
      await measureRow(site, 'one by one', lives, text, oneByOne),
      await measureRow(site, 'in batches, read in the inbox', lives, text, inBatches),
      await measureRow(site, `one by one, ${noise.label}`, lives, noise, oneByOne),
      await measureRow(site, `one by one, ${shortResult.label}`, lives, shortResult, oneByOne),
      await measureRow(site, 'one call at a time', sparseLives, text, sparse),
    ];
    return { rows, roundTrips: await roundTripsOf(site) };
  } finally {
    await site.stop();
    removeFolder(dir);
  }
};
