import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Item, Key } from '../../shared/ports/records.ts';
import { eventually } from '../support/eventually.ts';
import { created, type EngineUnderTest, type Open, sampleRef, token } from './engine-under-test.ts';

/** Notes whatever comes due, and moves its due time away as a handler would. */
const handling = (engine: EngineUnderTest) => {
  const handled: { pk: string; at: number; record: Item }[] = [];
  engine.follow({
    onTimer: async (record) => {
      handled.push({ pk: record.pk, at: engine.now(), record });
      await engine.ports.records.update(record, { unset: ['due'] }, token());
    },
  });
  return {
    times: ({ pk }: Key) => handled.filter((call) => call.pk === pk).length,
    first: (key: Key) =>
      eventually(() => {
        const call = handled.find(({ pk }) => pk === key.pk);
        assert.ok(call, `${key.pk} was never handed over`);
        return call;
      }),
  };
};

export const timersContract = (name: string, open: Open): void => {
  describe(`timers of ${name}`, () => {
    it('hand over a record at or after its due time, never before', async (t) => {
      const engine = await open(t);
      const due = handling(engine);
      const [soon, later] = [sampleRef(), sampleRef()];
      const begun = engine.now();
      await created(engine.ports.records, { ...later, due: begun + 3000 });
      const record = await created(engine.ports.records, { ...soon, due: begun + 1000 });
      await engine.pass(1000);
      const call = await due.first(soon);
      assert.deepEqual(call.record, record);
      assert.ok(call.at >= begun + 1000);
      assert.equal(due.times(later), 0);
      await engine.pass(2000);
      assert.ok((await due.first(later)).at >= begun + 3000);
    });

    it('hand over at once what is overdue when it is written', async (t) => {
      const engine = await open(t);
      const due = handling(engine);
      const ref = sampleRef();
      await created(engine.ports.records, { ...ref, due: engine.now() - 1000 });
      await engine.pass(1);
      await due.first(ref);
    });

    it('hand over what came due while nobody followed, also across a crash', async (t) => {
      const engine = await open(t);
      const ref = sampleRef();
      await created(engine.ports.records, { ...ref, due: engine.now() + 1000 });
      await engine.crash();
      await engine.pass(2000);
      const due = handling(engine);
      await engine.pass(1);
      await due.first(ref);
    });

    it('go by the due time that the record has, not by one that it had', async (t) => {
      const engine = await open(t);
      const due = handling(engine);
      const begun = engine.now();
      const [moved, dropped, removed, witness] = [sampleRef(), sampleRef(), sampleRef(), sampleRef()];
      for (const ref of [moved, dropped, removed]) {
        await created(engine.ports.records, { ...ref, due: begun + 1000 });
      }
      await created(engine.ports.records, { ...witness, due: begun + 2000 });
      await engine.ports.records.update(moved, { set: { due: begun + 3000 } }, token());
      await engine.ports.records.update(dropped, { unset: ['due'] }, token());
      await engine.ports.records.delete(removed);
      await engine.pass(2000);
      await due.first(witness);
      assert.deepEqual([moved, dropped, removed].map(due.times), [0, 0, 0]);
      await engine.pass(1000);
      await due.first(moved);
      assert.deepEqual([dropped, removed].map(due.times), [0, 0]);
    });

    it('hand over a record earlier where its due time moved forward', async (t) => {
      const engine = await open(t);
      const due = handling(engine);
      const ref = sampleRef();
      const begun = engine.now();
      await created(engine.ports.records, { ...ref, due: begun + 600_000 });
      await engine.ports.records.update(ref, { set: { due: begun + 1000 } }, token());
      await engine.pass(1000);
      assert.ok((await due.first(ref)).at < begun + 600_000);
    });

    it('hand over a record again until its due time has moved, and then no more', async (t) => {
      const engine = await open(t);
      const [stuck, witness] = [sampleRef(), sampleRef()];
      let calls = 0;
      engine.follow({
        onTimer: async ({ pk, sk }) => {
          if (pk !== stuck.pk) return;
          calls += 1;
          if (calls === 2) throw new Error('it fails the second time');
          if (calls === 3) await engine.ports.records.update({ pk, sk }, { unset: ['due'] }, token());
        },
      });
      await created(engine.ports.records, { ...stuck, due: engine.now() });
      await eventually(async () => {
        await engine.pass(100);
        assert.equal(calls, 3);
      });
      const due = handling(engine);
      await created(engine.ports.records, { ...witness, due: engine.now() });
      await eventually(async () => {
        await engine.pass(100);
        assert.equal(due.times(witness), 1);
      });
      assert.equal(due.times(stuck), 0);
    });

    it('hand over the others while one fails', async (t) => {
      const engine = await open(t);
      const broken = sampleRef();
      const handled = new Set<string>();
      engine.follow({
        onTimer: async ({ pk, sk }) => {
          if (pk === broken.pk) throw new Error('it always fails');
          handled.add(pk);
          await engine.ports.records.update({ pk, sk }, { unset: ['due'] }, token());
        },
      });
      const others = Array.from({ length: 100 }, () => sampleRef());
      const begun = engine.now();
      await created(engine.ports.records, { ...broken, due: begun });
      await Promise.all(others.map((ref, n) => created(engine.ports.records, { ...ref, due: begun + n })));
      await eventually(async () => {
        await engine.pass(100);
        assert.equal(handled.size, others.length);
      });
    });
  });
};
