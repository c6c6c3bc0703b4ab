/** Of a new table. Lambda reads each shard with as many batches at once as each mapping allows. */
const STREAM_SHARDS = 4;
/** From here on there is room for a second reader of each shard, and for two batches of each. */
const ROOMY = 100;
const MOST_SLOTS = 100;
const MOST_TIMERS = 20;
/** Lambda's minimum for a queue. */
const FEWEST_TIMERS = 2;
/** For calls that do not wait, the sweep, and what runs seldom. */
const FEWEST_OTHERS = 2;

export interface ConcurrencySettings {
  concurrency: number;
  streamParallelism?: number | undefined;
  longPollSlots?: number | undefined;
}

export interface ConcurrencyPlan {
  isSplit: boolean;
  streamParallelism: number;
  timers: number;
  /** Of each project. */
  longPollSlots: number;
}

const countReaders = ({ isSplit, streamParallelism }: Pick<ConcurrencyPlan, 'isSplit' | 'streamParallelism'>): number =>
  STREAM_SHARDS * (isSplit ? 2 : 1) * streamParallelism;

/** How the functions that an account may run at the same time are divided. */
export const planConcurrency = (
  { concurrency, streamParallelism: wanted, longPollSlots }: ConcurrencySettings,
  projects: number,
): ConcurrencyPlan => {
  const isSplit = concurrency >= ROOMY;
  const streamParallelism = wanted ?? (isSplit ? 2 : 1);
  const timers = Math.min(MOST_TIMERS, Math.max(FEWEST_TIMERS, Math.floor(concurrency / 50)));
  const others = Math.max(FEWEST_OTHERS, Math.floor(concurrency / 5));
  const free = concurrency - countReaders({ isSplit, streamParallelism }) - timers - others;
  const slots = Math.max(1, Math.min(MOST_SLOTS, Math.floor(free / projects)));
  return { isSplit, streamParallelism, timers, longPollSlots: longPollSlots ?? slots };
};

/** What does not fit would be throttled by chance: calls of agents, the stream, or the sweep. */
export const checkConcurrency = (settings: ConcurrencySettings, projects: number): string[] => {
  const { concurrency } = settings;
  const plan = planConcurrency(settings, projects);
  const [readers, waiting] = [countReaders(plan), plan.longPollSlots * projects];
  const needed = readers + waiting + plan.timers + FEWEST_OTHERS;
  if (needed <= concurrency) return [];
  return [
    `aws.concurrency: ${waiting} waiting calls of ${projects} projects, ${readers} readers of the stream, ${plan.timers} timers and ` +
      `${FEWEST_OTHERS} for all else are ${needed} functions at the same time, and the account runs ${concurrency}. Lower aws.longPollSlots or ` +
      'aws.streamParallelism, or ask AWS for more (Service Quotas, Lambda, Concurrent executions) and set aws.concurrency to that',
  ];
};
