import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoServer } from './start-server.ts';

const AGENT = 'galahad';
const WORK_MS = 20_000;
const BREAK_MS = 8000;

/** Now and then one is paused: work waits for it, and goes on afterwards. */
export const takeBreaks = async ({ call }: DemoServer, signal: AbortSignal): Promise<void> => {
  try {
    for (;;) {
      await sleep(WORK_MS, undefined, { signal });
      await call('POST', `/v1/agents/${AGENT}/pause`, { reason: 'A short break' });
      await sleep(BREAK_MS, undefined, { signal });
      await call('POST', `/v1/agents/${AGENT}/resume`, {});
    }
  } catch (error) {
    if (!signal.aborted) console.error(String(error));
  }
};
