import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { acknowledgeEvents, seekConsumer, takeEvents } from '../../shared/events/consume-events.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import { depsOn } from './domain-on-engine.ts';
import { type Open, unique } from './engine-under-test.ts';

const MINUTE_MS = 60_000;

const opened = async (t: TestContext, open: Open) => {
  const engine = await open(t);
  const project = unique('p');
  const consumers = {
    one: { project, types: ['task.*'], agents: [], channels: ['public'] },
    two: { project, types: ['task.completed'], agents: [], channels: ['public'] },
  };
  const deps = depsOn(engine, { consumers });
  const admin = { project, role: 'admin' } as const;
  return {
    engine,
    publish: (from: number, to: number) =>
      engine.ports.events.publish(
        Array.from({ length: to - from }, (_, n): ParleyEvent => {
          const id = String(from + n);
          return { id, project, type: (from + n) % 2 ? 'task.claimed' : 'task.completed', at: 0, data: {} };
        }),
      ),
    take: async (max: number, name = 'one', leaseMs = MINUTE_MS) => {
      const { events, receipt = '' } = await takeEvents(deps, admin, name, { max, leaseMs, waitMs: 0 });
      return { ids: events.map(({ id }) => id), receipt };
    },
    ack: (receipt: string, name = 'one') => acknowledgeEvents(deps, admin, name, receipt),
    rewind: (to: 'start' | Date, name = 'one') => seekConsumer(deps, admin, name, to),
  };
};

const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => String(from + n));
const byNumber = (a: string, b: string): number => Number(a) - Number(b);

export const consumersContract = (name: string, open: Open): void => {
  describe(`durable consumers on ${name}`, () => {
    it('give each event to one of the instances that take at the same time', async (t) => {
      const { publish, take, ack } = await opened(t, open);
      await publish(0, 10);
      await publish(10, 24);
      const taken = await Promise.all(Array.from({ length: 8 }, () => take(3)));
      assert.deepEqual(taken.flatMap(({ ids }) => ids).toSorted(byNumber), numbers(0, 24));
      await Promise.all(taken.map(({ receipt }) => ack(receipt)));
      await publish(24, 26);
      assert.deepEqual((await take(9)).ids, ['24', '25']);
    });

    it('give what lapsed to the next, bounded by what was given before, and not to whoever comes late', async (t) => {
      const { engine, publish, take, ack } = await opened(t, open);
      await publish(0, 4);
      const lost = await take(2);
      const kept = await take(1, 'one', 10 * MINUTE_MS);
      await engine.pass(2 * MINUTE_MS);
      const again = await take(9);
      assert.deepEqual([lost.ids, kept.ids, again.ids], [['0', '1'], ['2'], ['0', '1']]);
      await assert.rejects(ack(lost.receipt), { code: 'stale_receipt' });
      assert.deepEqual(await ack(again.receipt), { duplicate: false });
      assert.deepEqual(await ack(again.receipt), { duplicate: true });
      assert.deepEqual((await take(9)).ids, ['3']);
    });

    it('are rewound to the start or to a time, each for itself', async (t) => {
      const { engine, publish, take, ack, rewind } = await opened(t, open);
      await publish(0, 4);
      await engine.pass(10 * MINUTE_MS);
      const then = new Date(engine.now());
      await publish(4, 8);
      assert.deepEqual((await take(9)).ids, numbers(0, 8));
      const other = await take(9, 'two');
      assert.deepEqual(other.ids, ['0', '2', '4', '6']);
      await rewind(then);
      assert.deepEqual((await take(9)).ids, numbers(4, 8));
      await rewind('start');
      assert.deepEqual((await take(9)).ids, numbers(0, 8));
      assert.deepEqual(await ack(other.receipt, 'two'), { duplicate: false });
      assert.deepEqual((await take(9, 'two')).ids, []);
    });
  });
};
