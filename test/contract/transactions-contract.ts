import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equals, exists, greaterThan, notExists } from '../../shared/ports/conditions.ts';
import { created, type Open, sampleRef, token } from './engine-under-test.ts';

export const transactionsContract = (name: string, open: Open): void => {
  describe(`transactions of ${name}`, () => {
    it('creates, updates, removes and checks in one', async (t) => {
      const { records } = (await open(t)).ports;
      const [fresh, counted, old, checked] = [sampleRef(), sampleRef(), sampleRef(), sampleRef()];
      await created(records, { ...counted, count: 1 });
      await created(records, { ...old, status: 'old' });
      const before = await created(records, { ...checked, room: 2 });
      const done = await records.transact(
        [
          { kind: 'create', item: { ...fresh, ...{ status: 'new' } } },
          { kind: 'update', key: counted, change: { if: equals('count', 1), add: { count: 1 } } },
          { kind: 'remove', key: old, if: equals('status', 'old') },
          { kind: 'check', key: checked, if: greaterThan('room', 1) },
          { kind: 'check', key: sampleRef(), if: notExists('room') },
        ],
        'together',
      );
      assert.deepEqual(done, { outcome: 'written' });
      const [made, raised] = [await records.get(fresh), await records.get(counted)];
      assert.deepEqual([made?.status, made?.v, made?.token], ['new', 1, 'together']);
      assert.deepEqual([raised?.count, raised?.v, raised?.token], [2, 2, 'together']);
      assert.equal(await records.get(old), undefined);
      assert.deepEqual(await records.get(checked), before);
    });

    it('does nothing at all where one part is refused, and says which', async (t) => {
      const { records } = (await open(t)).ports;
      const [there, other, absentOne] = [sampleRef(), sampleRef(), sampleRef()];
      const current = await created(records, { ...there, size: 1 });
      await created(records, other);
      const refusals = [
        { write: { kind: 'create', item: there }, existing: current },
        {
          write: { kind: 'update', key: there, change: { if: equals('size', 2), set: { size: 3 } } },
          existing: current,
        },
        { write: { kind: 'update', key: absentOne, change: { set: { size: 3 } } }, existing: undefined },
        { write: { kind: 'remove', key: there, if: equals('size', 2) }, existing: current },
        { write: { kind: 'check', key: there, if: equals('size', 2) }, existing: current },
        { write: { kind: 'check', key: absentOne, if: exists('size') }, existing: undefined },
      ] as const;
      for (const { write, existing: shown } of refusals) {
        const fresh = sampleRef();
        const refused = await records.transact(
          [{ kind: 'create', item: fresh }, { kind: 'remove', key: other }, { ...write }],
          token(),
        );
        assert.deepEqual(refused, { outcome: 'refused', at: 2, existing: shown });
        assert.equal(await records.get(fresh), undefined);
        assert.ok(await records.get(other));
      }
      assert.deepEqual(await records.get(there), current);
    });

    it('answers written, not refused, where the same token comes again', async (t) => {
      const { records } = (await open(t)).ports;
      const [fresh, counted, old] = [sampleRef(), sampleRef(), sampleRef()];
      await created(records, { ...counted, count: 1 });
      await created(records, old);
      const writes = [
        { kind: 'create', item: fresh },
        { kind: 'update', key: counted, change: { if: equals('count', 1), add: { count: 1 } } },
        { kind: 'remove', key: old, if: exists('v') },
      ] as const;
      assert.deepEqual(await records.transact([...writes], 'mine'), { outcome: 'written' });
      assert.deepEqual(await records.transact([...writes], 'mine'), { outcome: 'written' });
      assert.equal((await records.get(counted))?.count, 2);
      assert.deepEqual((await records.transact([...writes], 'other')).outcome, 'refused');
    });

    it('creates over a record that has expired', async (t) => {
      const { ports, now, pass } = await open(t);
      const ref = sampleRef();
      await created(ports.records, { ...ref, expires: now() + 1000 });
      await pass(1000);
      assert.deepEqual(await ports.records.transact([{ kind: 'create', item: ref }], token()), { outcome: 'written' });
      assert.ok(await ports.records.get(ref));
    });

    it('lets one of many transactions on the same records win, and keeps them consistent', async (t) => {
      const { records } = (await open(t)).ports;
      const [left, right] = [sampleRef(), sampleRef()];
      await created(records, { ...left, owner: 'nobody' });
      await created(records, { ...right, owner: 'nobody' });
      const attempts = Array.from({ length: 10 }, async (_, number) => {
        const take = { if: equals('owner', 'nobody'), set: { owner: `agent-${number}` } };
        const keys = number % 2 === 0 ? [left, right] : [right, left];
        const by = token();
        const writes = keys.map((key) => ({ kind: 'update' as const, key, change: take }));
        return (await records.transact(writes, by)).outcome;
      });
      assert.equal((await Promise.all(attempts)).filter((outcome) => outcome === 'written').length, 1);
      assert.equal((await records.get(left))?.owner, (await records.get(right))?.owner);
    });
  });
};
