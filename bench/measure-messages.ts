import { noteOf } from './messages.ts';
import { median } from './numbers.ts';
import { type Opened, opened } from './opened.ts';
import type { Counts } from './options.ts';

export interface Messages {
  inboxes: { stored: number; sendMs: number; sendCalls: string; readMs: number; readCalls: string }[];
  broadcast: { agents: number; ms: number; msPerAgent: number; callsPerAgent: number };
}

export const measureMessages = async ({ sizes, audience }: Counts): Promise<Messages> => {
  const inboxes: Messages['inboxes'] = [];
  for (const stored of sizes) inboxes.push(await measureInbox(stored));
  return { inboxes, broadcast: await measureBroadcast(audience) };
};

const registering =
  ({ call }: Opened) =>
  (id: string, more: object = {}) =>
    call('PUT', `/v1/agents/${id}`, { dialect: 'message-routing', ...more });

const ROUNDS = 50;
const LIMIT = 100;

const measureInbox = async (stored: number): Promise<Messages['inboxes'][number]> => {
  const bench = await opened();
  const { calls, call, close } = bench;
  const register = registering(bench);
  for (const id of ['sender', 'reader']) await register(id);
  for (let others = 0; others * LIMIT < stored; others++) {
    await register(`other-${others}`);
    const messages = Array.from({ length: Math.min(LIMIT, stored) }, (_, index) =>
      noteOf(index + 1, `other-${others}`),
    );
    for (let at = 0; at < messages.length; at += 25) {
      await call('POST', '/v1/messages', { messages: messages.slice(at, at + 25) });
    }
  }
  for (let sequence = 1; sequence <= LIMIT; sequence++) await call('POST', '/v1/messages', noteOf(sequence));
  const timed = async (act: () => Promise<unknown>) => {
    const taken: number[] = [];
    let asked = '';
    for (let round = 0; round < ROUNDS; round++) {
      calls.take();
      const begun = performance.now();
      await act();
      taken.push(performance.now() - begun);
      asked = calls.take().text;
    }
    return { ms: median(taken), asked };
  };
  let sequence = LIMIT;
  const send = await timed(() => call('POST', '/v1/messages', noteOf(++sequence)));
  const read = await timed(async () => {
    const { messages } = await call('GET', `/v1/inbox?agent=reader&max=${LIMIT}`);
    if (messages.length !== LIMIT) throw new Error(`${messages.length} messages in a full inbox`);
  });
  await close();
  return { stored, sendMs: send.ms, sendCalls: send.asked, readMs: read.ms, readCalls: read.asked };
};

const measureBroadcast = async (agents: number): Promise<Messages['broadcast']> => {
  const bench = await opened();
  const { calls, call, close } = bench;
  const register = registering(bench);
  await register('sender', { role: 'coordinator' });
  for (let index = 0; index < agents; index++) await register(`agent-${index}`);
  calls.take();
  const begun = performance.now();
  const { broadcastId } = await call('POST', '/v1/messages', noteOf(1, 'all'), { 'parley-broadcast': 'all' });
  for (;;) {
    const { isDone, delivered: reached } = await call('GET', `/v1/broadcasts/${broadcastId}`);
    if (isDone && reached !== agents) throw new Error(`${reached} of ${agents} were reached`);
    if (isDone) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const ms = performance.now() - begun;
  const { total } = calls.take();
  await close();
  return { agents, ms, msPerAgent: ms / agents, callsPerAgent: total / agents };
};
