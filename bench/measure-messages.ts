import { startParley } from '../local/parley.ts';
import config from '../parley.config.ts';
import { Calls } from './calls.ts';
import { noteOf } from './messages.ts';
import { median } from './numbers.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';

export interface Messages {
  /** Around so many messages in other inboxes. */
  inboxes: { stored: number; sendMs: number; sendCalls: string; readMs: number; readCalls: string }[];
  broadcast: { agents: number; ms: number; msPerAgent: number; callsPerAgent: number };
}

export const measureMessages = async ({ sizes, audience }: Counts): Promise<Messages> => {
  const inboxes: Messages['inboxes'] = [];
  for (const stored of sizes) inboxes.push(await measureInbox(stored));
  return { inboxes, broadcast: await measureBroadcast(audience) };
};

const ADMIN_KEY = 'an-admin-key-for-the-bench';

/** The whole system in this process, without a socket, so that what is measured is what a call does. */
const opened = async () => {
  const dir = temporaryFolder();
  const calls = new Calls();
  let isFirst = true;
  const parley = await startParley({
    dir,
    config,
    adminKey: ADMIN_KEY,
    log: () => {},
    through: (ports) => {
      // The second are those of the dispatcher.
      const records = isFirst ? calls.counting(ports.records) : ports.records;
      isFirst = false;
      return { ...ports, records };
    },
  });
  const call = async (method: string, target: string, body?: object, headers: Record<string, string> = {}) => {
    const [path = '', query = ''] = target.split('?');
    const text = body ? JSON.stringify(body) : '';
    const authorization = `Bearer ${ADMIN_KEY}`;
    const request = { method, path, query, headers: { authorization, ...headers }, body: Buffer.from(text) };
    const response = await parley.handle(request);
    if (response.status >= 300 || typeof response.body !== 'string') throw new Error(`${method} ${target} failed`);
    return response.body === '' ? {} : JSON.parse(response.body);
  };
  const register = (id: string, more: object = {}) =>
    call('PUT', `/v1/agents/${id}`, { dialect: 'message-routing', ...more });
  const stop = async () => {
    await parley.stop();
    removeFolder(dir);
  };
  return { calls, call, register, stop };
};

const ROUNDS = 50;
const LIMIT = 100;

const measureInbox = async (stored: number): Promise<Messages['inboxes'][number]> => {
  const { calls, call, register, stop } = await opened();
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
  await stop();
  return { stored, sendMs: send.ms, sendCalls: send.asked, readMs: read.ms, readCalls: read.asked };
};

const measureBroadcast = async (agents: number): Promise<Messages['broadcast']> => {
  const { calls, call, register, stop } = await opened();
  await register('sender', { role: 'coordinator' });
  for (let index = 0; index < agents; index++) await register(`agent-${index}`);
  calls.take();
  const begun = performance.now();
  const { broadcastId } = await call('POST', '/v1/messages', noteOf(1, 'all'), { 'parley-broadcast': 'all' });
  for (;;) {
    const { isDone, reached } = await call('GET', `/v1/broadcasts/${broadcastId}`);
    if (isDone && reached !== agents) throw new Error(`${reached} of ${agents} were reached`);
    if (isDone) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const ms = performance.now() - begun;
  const { total } = calls.take();
  await stop();
  return { agents, ms, msPerAgent: ms / agents, callsPerAgent: total / agents };
};
