import { randomUUID } from 'node:crypto';
import { requestOf, resultOf } from './wire.ts';

export type CallAs = (agent: string, method: string, path: string, body?: string, wanted?: number) => Promise<unknown>;

export interface Operation {
  name: string;
  prepare?: (call: CallAs) => Promise<unknown>;
  run: (call: CallAs, prepared: string) => Promise<unknown>;
}

const requested = async (call: CallAs): Promise<string> => {
  const id = randomUUID();
  await call('asker', 'POST', '/v1/messages', requestOf('asker', id), 202);
  return id;
};

const completed = async (call: CallAs): Promise<string> => {
  const id = await requested(call);
  await call('worker', 'POST', '/v1/messages', resultOf('worker', id), 202);
  return id;
};

const drained = (call: CallAs) => call('worker', 'POST', '/v1/claims', '{"max":10}');

export const noteTo = (to: string, id: string = randomUUID()): string =>
  JSON.stringify({
    id,
    timestamp: '2026-02-08T15:00:00Z',
    version: '1.0.0',
    from: { agentId: 'speaker' },
    to: { agentId: to },
    type: 'event',
    payload: { content: { text: 'What one agent tells another. '.repeat(20) } },
    ttl: 604_800,
  });

const graph = (): string => {
  const [first, second] = [randomUUID(), randomUUID()];
  const node = { agent: 'worker', capability: 'security.briefing' };
  const nodes = [
    { ...node, taskId: first },
    { ...node, taskId: second, dependencies: [first] },
  ];
  return JSON.stringify({ graphId: randomUUID(), nodes });
};

const batch = (): string => JSON.stringify({ tasks: [1, 2].map(() => JSON.parse(requestOf('asker', randomUUID()))) });

export const OPERATIONS: readonly Operation[] = [
  { name: 'request', run: requested },
  { name: 'claim', prepare: requested, run: (call) => call('worker', 'POST', '/v1/claims', '{}') },
  {
    name: 'result',
    prepare: requested,
    run: (call, id) => call('worker', 'POST', '/v1/messages', resultOf('worker', id), 202),
  },
  { name: 'claims, none left', prepare: drained, run: (call) => call('worker', 'POST', '/v1/claims', '{}') },
  { name: 'task by id', prepare: completed, run: (call, id) => call('asker', 'GET', `/v1/tasks/${id}`) },
  { name: 'tasks, a page', run: (call) => call('asker', 'GET', '/v1/tasks?limit=20') },
  { name: 'failed tasks', run: (call) => call('asker', 'GET', '/v1/dead-letters?limit=20') },
  { name: 'message to an agent', run: (call) => call('speaker', 'POST', '/v1/messages', noteTo('quiet'), 202) },
  { name: 'message to the full inbox', run: (call) => call('speaker', 'POST', '/v1/messages', noteTo('reader'), 202) },
  { name: 'full inbox, 100 messages', run: (call) => call('reader', 'GET', '/v1/inbox?max=100') },
  { name: 'graph of two', run: (call) => call('asker', 'POST', '/v1/graphs', graph(), 202) },
  { name: 'batch of two', run: (call) => call('asker', 'POST', '/v1/batches', batch(), 202) },
  { name: 'agent by id', run: (call) => call('admin', 'GET', '/v1/agents/worker') },
  { name: 'agents, a page', run: (call) => call('admin', 'GET', '/v1/agents?limit=20') },
  { name: 'events of a rare kind', run: (call) => call('admin', 'GET', '/v1/events?type=agent.online&limit=20') },
  { name: 'message log, a page', run: (call) => call('admin', 'GET', '/v1/audit-log?limit=20') },
];
