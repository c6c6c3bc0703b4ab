import { readFileSync } from 'node:fs';

/** The unit of /proc/<pid>/stat on every Linux that Node runs on. */
const TICK_MS = 10;

interface CpuMs {
  user: number;
  system: number;
  /** Of both, what the main thread took; the rest is syncs, garbage collection and compilation. */
  mainThread: number;
}

export const cpuOf = (pid: number): CpuMs => {
  const whole = ticksIn(`/proc/${pid}/stat`);
  const main = ticksIn(`/proc/${pid}/task/${pid}/stat`);
  return { ...whole, mainThread: main.user + main.system };
};

const ticksIn = (file: string): { user: number; system: number } => {
  const stat = readFileSync(file, 'utf8');
  // The name of the process, in parentheses, may contain spaces; utime and stime are the 12th and 13th field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { user: Number(fields[11]) * TICK_MS, system: Number(fields[12]) * TICK_MS };
};

/** What all processes together have taken of all cores, and what the host has taken from this machine. */
export const machineCpuMs = (): number => {
  const [user, nice, system, , , irq, softirq, steal] =
    /^cpu +(.*)/.exec(readFileSync('/proc/stat', 'utf8'))?.[1]?.split(' ').map(Number) ?? [];
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) * TICK_MS;
};

export const residentMb = (pid: number): number => {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kb) / 1024);
};
