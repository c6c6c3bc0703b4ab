import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Ports } from '../../shared/ports/ports.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

/** Breaks what the request handlers send, and leaves the dispatcher's own way whole. */
const brokenFastPath = () => {
  let isForHandlers = true;
  return (ports: Ports): Ports => {
    if (!isForHandlers) return ports;
    isForHandlers = false;
    return { ...ports, queues: { ...ports.queues, send: () => Promise.reject(new Error('the fast path is broken')) } };
  };
};

describe('the fast path', () => {
  it('may be broken: every task still arrives, through the stream of changes', async (t) => {
    const { agent, logged } = await testParley(t, { wrapPorts: brokenFastPath() });
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const ids = await Promise.all(Array.from({ length: 40 }, () => tim.request()));
    const claimed = new Set<string>();
    await eventually(async () => {
      for (const task of await galahad.claim({ max: 10 })) claimed.add(task.message.id);
      assert.equal(claimed.size, ids.length);
    });
    assert.deepEqual([...claimed].toSorted(), ids.toSorted());
    assert.ok(logged.some((line) => line.includes('eager enqueue failed')));
  });

  it('and the stream of changes together queue a task once', async (t) => {
    const { agent, parley } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const announced = async () => {
      const { events } = await parley.deps.events.read('default', { types: ['task.requested'], limit: 10 });
      assert.equal(events.length, 1);
    };
    await eventually(announced);
    const lane = { project: 'default', kind: 'domain', name: 'security', priority: 'normal' } as const;
    const received = await parley.deps.queues.receive([lane], { max: 10, waitMs: 0, visibilityMs: 1000 });
    assert.equal(received.length, 1);
    await parley.deps.queues.release(received);
    assert.equal((await galahad.claim())[0].message.id, id);
  });
});
