import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equals } from '../../shared/ports/conditions.ts';
import {
  afterOf,
  created,
  type Open,
  type Sample,
  sampleRef,
  token,
  UNWATCHED,
  unique,
  WATCHED,
} from './engine-under-test.ts';

export const recordsContract = (name: string, open: Open): void => {
  describe(`records of ${name}`, () => {
    it('gives a record back with the version, the token and the time of its write', async (t) => {
      const { ports, now } = await open(t);
      const ref = sampleRef();
      const after = await created(
        ports.records,
        { ...ref, title: 'Grail', size: 3, tags: ['a'], deep: { er: null } },
        'w1',
      );
      assert.deepEqual(await ports.records.get(ref), after);
      assert.deepEqual(
        { ...after, at: 0 },
        {
          ...{ ...ref, title: 'Grail', size: 3, tags: ['a'], deep: { er: null } },
          ...{ v: 1, token: 'w1', at: 0 },
        },
      );
      assert.ok(after.at <= now() && after.at > now() - 60_000);
    });

    it('knows nothing of a record that was never written or has been removed', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      assert.equal(await records.get(ref), undefined);
      await records.delete(ref);
      await created(records, ref);
      await records.delete(ref);
      assert.equal(await records.get(ref), undefined);
    });

    it('gets many records at once, and leaves out those that are absent', async (t) => {
      const { records } = (await open(t)).ports;
      const refs = Array.from({ length: 30 }, () => sampleRef());
      const even = refs.filter((_, index) => index % 2 === 0);
      await Promise.all(even.map((ref) => created(records, ref)));
      const found = await records.getMany(refs);
      assert.deepEqual(found.map(({ pk }) => pk).toSorted(), even.map(({ pk }) => pk).toSorted());
      assert.deepEqual(await records.getMany([]), []);
    });

    it('keeps apart what differs in the partition key, the sort key or only in case', async (t) => {
      const { records } = (await open(t)).ports;
      const pk = unique('p#Case');
      const refs = [
        sampleRef(pk, 'a'),
        sampleRef(pk, 'A'),
        sampleRef(pk.toLowerCase(), 'a'),
        sampleRef(`${pk} a`, 'a'),
        sampleRef(pk, 'a a'),
      ];
      for (const [number, ref] of refs.entries()) await created(records, { ...ref, number });
      for (const [number, ref] of refs.entries()) assert.equal((await records.get(ref))?.number, number);
    });

    it('refuses to create what is there, and shows it', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const first = await created(records, { ...ref, by: 'first' });
      const second = await records.create<Sample>({ ...ref, by: 'second' }, token());
      assert.deepEqual(second, { outcome: 'refused', existing: first });
      assert.deepEqual(await records.get(ref), first);
    });

    it('lets one of many who create the same record at once succeed', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, number) => records.create<Sample>({ ...ref, number }, token())),
      );
      assert.equal(all.filter(({ outcome }) => outcome === 'written').length, 1);
    });

    it('answers written, not refused, where the same token creates again', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const after = await created(records, ref, 'mine');
      assert.deepEqual(await records.create<Sample>(ref, 'mine'), { outcome: 'written', after, replayed: true });
      assert.equal((await records.get(ref))?.v, 1);
    });

    it('takes an expired record for absent, whether or not it has been removed by then', async (t) => {
      const { ports, now, pass } = await open(t);
      const { records } = ports;
      const [lasting, brief] = [sampleRef(), sampleRef()];
      await created(records, { ...lasting, expires: now() + 60_000 });
      await created(records, { ...brief, expires: now() + 1000, old: true });
      assert.ok(await records.get(brief));
      await pass(1000);
      assert.equal(await records.get(brief), undefined);
      assert.deepEqual(
        (await records.getMany([lasting, brief])).map(({ pk }) => pk),
        [lasting.pk],
      );
      assert.deepEqual(await records.query({ pk: brief.pk, limit: 10 }), []);
      assert.deepEqual(await records.update(brief, { set: { x: 1 } }, token()), {
        outcome: 'refused',
        existing: undefined,
      });
      const again = await created(records, { ...brief, fresh: true });
      assert.equal(again.old, undefined);
      assert.deepEqual(await records.get(brief), again);
    });

    it('notices a write under a key that came before anybody waited for it', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const listener = records.watch(ref.pk);
      t.after(() => listener.close());
      await created(records, ref);
      await listener.next(60_000);
    });

    it('wakes everybody who waits for a key, also for what appears in that place of an index', async (t) => {
      const { records } = (await open(t)).ports;
      const place = unique('p#place');
      const listeners = [records.watch(place), records.watch(place)];
      t.after(() => listeners.map((listener) => listener.close()));
      const heard = Promise.all(listeners.map((listener) => listener.next(60_000)));
      await created(records, { ...sampleRef(place, UNWATCHED) });
      await heard;
      const heardPlaced = listeners[0]?.next(60_000);
      await created(records, { ...sampleRef(), byList: { pk: place, sk: '1' } });
      await heardPlaced;
      const late = sampleRef();
      await created(records, { ...late, byList: { pk: place } });
      const heardLate = listeners[1]?.next(60_000).then(() => listeners[1]?.next(60_000));
      await records.update(late, { set: { 'byList.sk': '2' } }, token());
      await heardLate;
    });

    it('stops waiting for a key in the end, or when it is told to', async (t) => {
      const { ports, pass } = await open(t);
      const listener = ports.records.watch(unique('p#quiet'));
      t.after(() => listener.close());
      const heard = listener.next(500);
      await pass(500);
      await heard;
      const stop = new AbortController();
      const stopped = listener.next(60_000, stop.signal);
      stop.abort();
      await stopped;
      await listener.next(60_000, stop.signal);
    });

    it('reads what has just been written, whoever reads', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef(undefined, WATCHED);
      await created(records, { ...ref, n: 0 });
      for (let n = 1; n <= 20; n++) {
        await records.update(ref, { if: equals('n', n - 1), set: { n } }, token());
        const [[queried], got] = await Promise.all([records.query({ pk: ref.pk, limit: 1 }), records.get(ref)]);
        assert.deepEqual([queried?.v, got?.n], [n + 1, n]);
      }
      assert.equal(afterOf(await records.update(ref, {}, token())).v, 22);
    });
  });
};
