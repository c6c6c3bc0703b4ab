import { parleyFor, Refused, setting } from '../worker/parley.ts';

/** This agent's calls, with the settings that it was started with. */
export const parley = parleyFor(setting('PARLEY_URL'), setting('AGENT'), setting('KEY'));

export const send = (message: object) => parley.call('POST', '/v1/messages', message);

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

const PAUSED_MS = 1000;

/** Claims one task after the other. A task that was cancelled or taken over is refused, and is no reason to stop. */
// biome-ignore lint/suspicious/noExplicitAny: a message of the agent's own protocol
export const work = async (handle: (message: any) => Promise<void>): Promise<never> => {
  for (;;) {
    const { tasks, paused } = await parley.call('POST', '/v1/claims', { wait: 20 });
    if (paused) await sleep(PAUSED_MS);
    for (const { message } of tasks) await handle(message).catch(reportRefusal);
  }
};

/** Takes what comes into the inbox: results, failures and questions. */
// biome-ignore lint/suspicious/noExplicitAny: a message of the agent's own protocol
export const readInbox = async (handle: (message: any) => Promise<void> = async () => {}): Promise<never> => {
  for (;;) {
    const { messages } = await parley.call('GET', '/v1/inbox?wait=20&mode=take');
    for (const message of messages) void handle(message).catch(reportRefusal);
  }
};

/** Does something again and again, the first time at once. */
export const repeat = async (everyMs: number, run: () => Promise<unknown>): Promise<never> => {
  for (;;) {
    await run().catch(reportRefusal);
    await sleep(everyMs * (0.7 + Math.random() * 0.6));
  }
};

const reportRefusal = (error: unknown): void => {
  if (!(error instanceof Refused)) throw error;
  console.error(`${parley.agent}: ${error.message}`);
};
