import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Ports } from '../../shared/ports/ports.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

/** Breaks the queue of the request handlers, not that of the dispatcher. */
const breakEagerEnqueue = () => {
  let isForHandlers = true;
  return (ports: Ports): Ports => {
    if (!isForHandlers) return ports;
    isForHandlers = false;
    return {
      ...ports,
      queues: { ...ports.queues, send: () => Promise.reject(new Error('the eager enqueue is broken')) },
    };
  };
};

describe('eager enqueue', () => {
  it('delivers every task through the change feed when the eager enqueue fails', async (t) => {
    const { agent, logged } = await testParley(t, { wrapPorts: breakEagerEnqueue() });
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const ids = await Promise.all(Array.from({ length: 40 }, () => requester.request()));
    const claimed = new Set<string>();
    await eventually(async () => {
      for (const task of await worker.claim({ max: 10 })) claimed.add(task.message.id);
      assert.equal(claimed.size, ids.length);
    });
    assert.deepEqual([...claimed].toSorted(), ids.toSorted());
    assert.ok(logged.some((line) => line.includes('eager enqueue failed')));
  });

  it('queues a task once although the eager enqueue and the dispatcher both send it', async (t) => {
    const { agent, parley } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    const announced = async () => {
      const { events } = await parley.deps.events.read('default', { types: ['task.requested'], limit: 10 });
      assert.equal(events.length, 1);
    };
    await eventually(announced);
    const lane = { project: 'default', kind: 'domain', name: 'security', priority: 'normal' } as const;
    const received = await parley.deps.queues.receive([lane], { max: 10, waitMs: 0, visibilityMs: 1000 });
    assert.equal(received.length, 1);
    await parley.deps.queues.release(received);
    assert.equal((await worker.claim())[0].message.id, id);
  });
});
