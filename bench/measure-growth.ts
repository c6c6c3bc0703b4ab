import { randomUUID } from 'node:crypto';
import { type RunningParley, startParley } from '../local/composition.ts';
import config from '../parley.config.ts';
import { createBodyReader } from '../shared/http/read-body.ts';
import type { Ports } from '../shared/ports/ports.ts';
import { type CallAs, noteTo, OPERATIONS } from './growth-operations.ts';
import { median } from './numbers.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { storeAgain, storeTasks } from './stored-tasks.ts';
import { requestOf, resultOf } from './wire.ts';

export interface Growth {
  operation: string;
  at: { size: number; calls: number; rows: number; p50Ms: number }[];
}

const ADMIN_KEY = 'an-admin-key-for-the-bench';

export const measureGrowth = async ({ sizes, operations }: Counts): Promise<Growth[]> => {
  const growth: Growth[] = OPERATIONS.map(({ name }) => ({ operation: name, at: [] }));
  for (const size of sizes) {
    const dir = await stored(size);
    const asked = { calls: 0, rows: 0 };
    const { call, stop } = await opened(dir, (ports) => counting(ports, asked));
    for (const [at, { prepare, run }] of OPERATIONS.entries()) {
      const samples: { calls: number; rows: number; ms: number }[] = [];
      for (let n = 0; n < operations; n++) {
        const prepared = await prepare?.(call);
        Object.assign(asked, { calls: 0, rows: 0 });
        const begun = performance.now();
        await run(call, typeof prepared === 'string' ? prepared : '');
        samples.push({ ...asked, ms: performance.now() - begun });
      }
      growth[at]?.at.push({
        size,
        calls: median(samples.map(({ calls }) => calls)),
        rows: median(samples.map(({ rows }) => rows)),
        p50Ms: median(samples.map(({ ms }) => ms)),
      });
    }
    await stop();
    removeFolder(dir);
    console.error(`  … ${size.toLocaleString('en')} of everything`);
  }
  return growth;
};

/** Counts only what the handler asks for; effects have their own ports. */
const counting = (ports: Ports, asked: { calls: number; rows: number }): Ports => {
  const counted = async <T>(answer: Promise<T>, rowsIn: (answered: T) => number): Promise<T> => {
    asked.calls += 1;
    const answered = await answer;
    asked.rows += rowsIn(answered);
    return answered;
  };
  const { records, events } = ports;
  const one = (): number => 1;
  return {
    ...ports,
    records: {
      ...records,
      get: (ref) => counted(records.get(ref), one),
      getMany: (refs) => counted(records.getMany(refs), ({ length }) => length),
      query: (query) => counted(records.query(query), ({ length }) => length),
      create: (item, token) => counted(records.create(item, token), one),
      update: (ref, change, token, orCreate) => counted(records.update(ref, change, token, orCreate), one),
      transact: (writes, token) => counted(records.transact(writes, token), () => writes.length),
    },
    events: {
      ...events,
      read: (project, options) => counted(events.read(project, options), (page) => page.events.length),
    },
  };
};

const AGENTS = {
  asker: { dialect: 'round-table' },
  worker: { dialect: 'round-table', capabilities: ['security.briefing'] },
  speaker: { dialect: 'agent-os' },
  reader: { dialect: 'agent-os' },
  quiet: { dialect: 'agent-os' },
};

const opened = async (
  dir: string,
  through?: (ports: Ports) => Ports,
): Promise<{ call: CallAs; stop: RunningParley['stop'] }> => {
  let seen = 0;
  const parley = await startParley({
    dir,
    config,
    adminKey: ADMIN_KEY,
    log: () => {},
    // The first ports are the domain's, the second the dispatcher's.
    wrapPorts: (ports) => (seen++ === 0 ? (through?.(ports) ?? ports) : ports),
  });
  const call: CallAs = async (agent, method, target, body = '', wanted = 200) => {
    const [path = '', query = ''] = target.split('?');
    const headers = { authorization: `Bearer ${keys.get(agent)}` };
    const answer = await parley.handle({ method, path, query, headers, readBody: createBodyReader(Buffer.from(body)) });
    if (answer.status !== wanted) throw new Error(`${method} ${target}: ${answer.status} ${String(answer.body)}`);
    return JSON.parse(String(answer.body));
  };
  return { call, stop: () => parley.stop() };
};

const keys = new Map([['admin', ADMIN_KEY]]);

const stored = async (size: number): Promise<string> => {
  const dir = temporaryFolder();
  const { call, stop } = await opened(dir);
  for (const [id, registration] of Object.entries(AGENTS)) {
    await call('admin', 'PUT', `/v1/agents/${id}`, JSON.stringify(registration), 201);
    const answer = await call('admin', 'POST', `/v1/agents/${id}/key`);
    keys.set(id, String(Object(answer).key));
  }
  const [agent, task, note] = [randomUUID(), randomUUID(), randomUUID()];
  await call('admin', 'PUT', `/v1/agents/${agent}`, JSON.stringify({ dialect: 'agent-os' }), 201);
  await call('asker', 'POST', '/v1/messages', requestOf('asker', task), 202);
  await call('worker', 'POST', '/v1/claims', '{"wait":5}');
  await call('worker', 'POST', '/v1/messages', resultOf('worker', task), 202);
  await call('speaker', 'POST', '/v1/messages', noteTo('reader', note), 202);
  await stop();
  await storeTasks(dir, task, size);
  for (const id of [agent, note]) await storeAgain(dir, () => [id], size);
  return dir;
};
