import { readFileSync } from 'node:fs';

/** The unit of /proc/<pid>/stat on every Linux that Node supports. */
const TICK_MS = 10;

interface CpuMs {
  user: number;
  system: number;
  /** The rest is syncs, garbage collection and compilation. */
  mainThread: number;
}

export const cpuOf = (pid: number): CpuMs => {
  const whole = ticksIn(`/proc/${pid}/stat`);
  const main = ticksIn(`/proc/${pid}/task/${pid}/stat`);
  return { ...whole, mainThread: main.user + main.system };
};

/** Of the main thread alone, to the microsecond. */
export const mainThreadMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

const ticksIn = (file: string): { user: number; system: number } => {
  const stat = readFileSync(file, 'utf8');
  // The process name in parentheses may contain spaces. utime and stime are fields 12 and 13 after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { user: Number(fields[11]) * TICK_MS, system: Number(fields[12]) * TICK_MS };
};

/** Includes steal time of the host. */
export const machineCpuMs = (): number => {
  const [user, nice, system, , , irq, softirq, steal] =
    /^cpu +(.*)/.exec(readFileSync('/proc/stat', 'utf8'))?.[1]?.split(' ').map(Number) ?? [];
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) * TICK_MS;
};

export const residentMb = (pid: number): number => {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kb) / 1024);
};
