import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { admin, agent } = await deployment();
const PATIENCE_MS = 60_000;

const ask = async (from: TestAgent, to: TestAgent, limits: object[]): Promise<string> => {
  const id = randomUUID();
  const reply = await from.send({ kind: 'request', id, capability: 'cook', to: to.id, limits });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return id;
};

const idsOf = (claimed: { message: { id: string } }[]): string[] => claimed.map(({ message }) => message.id);

describe('limits of tasks', () => {
  it('let as many tasks of a key run as they say, show what waits, and start the next one when there is a place', async () => {
    const native = { dialect: 'native' };
    const [chef, cook] = [await agent('chef', native), await agent('cook', native)];
    const key = `oven-${randomUUID()}`;
    const limits = [{ key, concurrency: 2 }];
    const all: string[] = [];
    for (let at = 0; at < 4; at++) all.push(await ask(chef, cook, limits));
    const running: string[] = [];
    await eventually(async () => {
      running.push(...idsOf(await cook.claim({ max: 10 })));
      assert.equal(running.length, 2);
    }, PATIENCE_MS);
    const waiting = all.filter((id) => !running.includes(id));
    for (const id of waiting)
      assert.partialDeepStrictEqual((await chef.task(id)).waitsForLimit, { key, reason: 'concurrency', running: 2 });
    await eventually(async () => {
      const [queue] = (await admin.call('GET', `/v1/queues?agent=${cook.id}`)).body.queues;
      assert.deepEqual(queue.limits, [{ key, reason: 'concurrency', waiting: 2 }]);
    }, PATIENCE_MS);
    const done = running.pop() ?? '';
    assert.equal((await cook.send({ kind: 'result', taskId: done, output: 1 })).status, 202);
    await eventually(async () => {
      running.push(...idsOf(await cook.claim({ max: 10, wait: 5 })));
      assert.equal(running.length, 2);
    }, PATIENCE_MS);
    const path = `/v1/limits/${key}`;
    assert.partialDeepStrictEqual((await admin.call('GET', path)).body, { key, running: 2, source: 'tasks' });
    const { body } = await admin.call('PUT', path, { concurrency: 3 });
    assert.partialDeepStrictEqual(body, { concurrency: 3, source: 'operator' });
    // Other processes see it within 5 s.
    await eventually(async () => {
      running.push(...idsOf(await cook.claim({ max: 10, wait: 5 })));
      assert.equal(running.length, 3);
    }, PATIENCE_MS);
    assert.ok((await admin.call('GET', '/v1/limits?limit=100')).body.limits.length > 0);
    assert.equal((await admin.call('DELETE', path)).status, 204);
    for (const taskId of running) assert.equal((await cook.send({ kind: 'result', taskId, output: 1 })).status, 202);
  });
});
