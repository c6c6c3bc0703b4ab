import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startParley } from '../local/composition.ts';
import config from '../parley.config.ts';
import { createBodyReader } from '../shared/http/read-body.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';

/** The CPU of a request over A2A and of the same one in Round Table, with all that follows from it, in pairs. */

const { values } = parseArgs({
  options: { pairs: { type: 'string', default: '20' }, requests: { type: 'string', default: '1000' } },
});
const [pairs, requests] = [Number(values.pairs), Number(values.requests)];

const ADMIN_KEY = 'an-admin-key-for-the-benchmark';
const AT_ONCE = 64;
/** What follows from the last of them is carried out. */
const SETTLE_MS = 500;

const dir = temporaryFolder();
const parley = await startParley({ dir, config, adminKey: ADMIN_KEY, log: () => {} });

const call = async (key: string, method: string, path: string, body: object, headers: Record<string, string> = {}) => {
  const bytes = Buffer.from(JSON.stringify(body));
  const all = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
  const answer = await parley.handle({ method, path, query: '', headers: all, readBody: createBodyReader(bytes) });
  const text = typeof answer.body === 'string' ? answer.body : '';
  if (answer.status >= 300 || text.includes('"error":{')) throw new Error(`${path} answered ${answer.status}: ${text}`);
  return text;
};

const register = async (id: string, dialect: string): Promise<string> =>
  JSON.parse(await call(ADMIN_KEY, 'PUT', `/v1/agents/${id}`, { dialect, capabilities: [] })).key;

const [knight, client] = [await register('knight', 'round-table'), await register('client', 'a2a')];
await register('worker', 'round-table');

const TEXT = 'Collect facts about the tides of the Atlantic, and say where they come from.';

const WAYS = {
  'Round Table': () =>
    call(knight, 'POST', '/v1/messages', {
      id: randomUUID(),
      version: '1.0',
      type: 'task.request',
      from: 'knight',
      to: 'worker',
      timestamp: new Date().toISOString(),
      payload: { task: 'security.briefing', params: { text: TEXT } },
    }),
  A2A: () =>
    call(
      client,
      'POST',
      '/a2a/worker',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: {
            messageId: randomUUID(),
            role: 'ROLE_USER',
            parts: [{ data: { text: TEXT } }],
            metadata: { parley: { capability: 'security.briefing' } },
          },
          configuration: { returnImmediately: true },
        },
      },
      { 'a2a-version': '1.0' },
    ),
};

const measure = async (send: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  let left = requests;
  const run = async (): Promise<void> => {
    while (left-- > 0) await send();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  await pause(SETTLE_MS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
};

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

for (const send of Object.values(WAYS)) await measure(send);
const ratios: number[] = [];
const cpu: Record<string, number[]> = { 'Round Table': [], A2A: [] };
for (let pair = 0; pair < pairs; pair++) {
  const order = pair % 2 === 0 ? (['Round Table', 'A2A'] as const) : (['A2A', 'Round Table'] as const);
  const found = { 'Round Table': 0, A2A: 0 };
  for (const way of order) {
    found[way] = await measure(WAYS[way]);
    cpu[way]?.push(found[way]);
  }
  ratios.push(found.A2A / found['Round Table']);
}
await parley.stop();
removeFolder(dir);

for (const [way, values] of Object.entries(cpu)) process.stdout.write(`${way}: ${median(values).toFixed(0)} µs\n`);
process.stdout.write(`A2A : Round Table, median of ${pairs} pairs: ${median(ratios).toFixed(3)}\n`);
