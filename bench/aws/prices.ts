const MILLION = 1_000_000;

/** Dollars per unit in us-east-1. */
export const PRICES = {
  httpRequest: 1.0 / MILLION,
  invocation: 0.2 / MILLION,
  gbSecond: 0.000_013_333_4,
  fifoRequest: 0.5 / MILLION,
  standardRequest: 0.4 / MILLION,
  writeUnit: 0.625 / MILLION,
  readUnit: 0.125 / MILLION,
  event: 1.0 / MILLION,
  logGb: 0.5,
} as const;

/** Lambda gives a full core at 1,769 MB and proportionally less below. */
const CORE_GB = 1769 / 1024;

export const gbSecondsOfCpu = (cpuMs: number): number => (cpuMs / 1000) * CORE_GB;

/** Dollars per million task cycles. */
export const ELSEWHERE = [
  { name: 'Temporal Cloud, 5 actions', dollars: 5 * 50 },
  { name: 'Inngest, 4 executions', dollars: 4 * 50 },
  { name: 'Step Functions Standard, 5 transitions', dollars: 5 * 25 },
] as const;
