import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestAgent } from '../support/api.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

/** A batch of tasks for the cook, who has claimed them all. */
export const begun = async (
  t: Parameters<typeof testParley>[0],
  count: number,
  options: Record<string, unknown> = {},
  through?: Parameters<typeof testParley>[1],
) => {
  const parley = await testParley(t, through);
  const { orchestrator, cook } = await kitchen(parley);
  const tasks = Array.from({ length: count }, () => tfRequest());
  const batch = { batchId: randomUUID(), tasks, ...options };
  const reply = await orchestrator.call('POST', '/v1/batches', batch);
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  const ids = tasks.map(({ id }) => id);
  assert.equal((await cook.claim({ max: 10 })).length, Math.min(10, count));
  return { parley, orchestrator, cook, batch, ids };
};

export const complete = async (cook: TestAgent, id = '', result: unknown = {}): Promise<void> => {
  const { status, body } = await cook.send({ id, status: 'completed', result });
  assert.equal(status, 202, JSON.stringify(body));
};

export const fail = async (cook: TestAgent, id = ''): Promise<void> => {
  const { status } = await cook.send({ id, status: 'failed', error: { code: 'INVALID_INPUT', message: 'burnt' } });
  assert.equal(status, 202);
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
export const view = async (agent: TestAgent, id: string, wait = 0): Promise<any> =>
  (await agent.call('GET', `/v1/batches/${id}?wait=${wait}`)).body;

export const statuses = ({ results }: { results: { status: string }[] }): string[] =>
  results.map(({ status }) => status);

export const endsOf = async ({ admin }: { admin: { call: TestAgent['call'] } }) =>
  (await admin.call('GET', '/v1/events?type=batch.ended&limit=100')).body.events;
