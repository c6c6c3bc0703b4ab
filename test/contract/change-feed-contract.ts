import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecordChange } from '../../shared/ports/records.ts';
import { eventually } from '../support/eventually.ts';
import { isLong } from '../support/scale.ts';
import {
  created,
  type EngineUnderTest,
  type Open,
  type Sample,
  sampleRef,
  token,
  UNWATCHED,
} from './engine-under-test.ts';

/** More than a read of a stream brings, which is at most a thousand. */
const MANY = isLong ? 2500 : 1100;

/** The versions of one record as its changes told of them; a removal is 0. */
const versionsOf = (told: RecordChange[], pk: string): number[] =>
  told.filter(({ before, after }) => (after ?? before)?.pk === pk).map(({ after }) => after?.v ?? 0);

const noting = (engine: EngineUnderTest) => {
  const told: RecordChange[] = [];
  engine.follow({ onChanges: async (changes) => void told.push(...changes) });
  return told;
};

/** Waits while time passes, as a feed that tries again after a pause needs it. */
const inTime = (engine: EngineUnderTest, ask: () => void): Promise<void> =>
  eventually(async () => {
    await engine.pass(100);
    ask();
  });

export const changeFeedContract = (name: string, open: Open): void => {
  describe(`the change feed of ${name}`, () => {
    it('tells of every write to a watched record, with the record before and after it', async (t) => {
      const engine = await open(t);
      const told = noting(engine);
      const { records } = engine.ports;
      const ref = sampleRef();
      const first = await created(records, { ...ref, n: 1 });
      const updated = await records.update(ref, { set: { n: 2 } }, token());
      await records.delete(ref);
      await inTime(engine, () => assert.equal(told.length, 3));
      const second = updated.outcome === 'written' ? updated.after : undefined;
      assert.deepEqual(
        told.map(({ before, after }) => [before, after]),
        [
          [undefined, first],
          [first, second],
          [second, undefined],
        ],
      );
    });

    it('tells nothing of other records, nor of what was refused', async (t) => {
      const engine = await open(t);
      const told = noting(engine);
      const { records } = engine.ports;
      const [ref, last] = [sampleRef(), sampleRef()];
      await created(records, sampleRef(undefined, UNWATCHED));
      await created(records, ref, 'mine');
      await records.create<Sample>(ref, 'mine');
      await records.create<Sample>(ref, 'other');
      await records
        .transact(
          [
            { kind: 'remove', key: ref },
            { kind: 'create', item: ref },
          ],
          token(),
        )
        .catch(() => {});
      await created(records, last);
      await inTime(engine, () => assert.ok(versionsOf(told, last.pk).length > 0));
      assert.deepEqual(versionsOf(told, ref.pk)[0], 1);
      assert.ok(told.every(({ before, after }) => (after ?? before)?.sk !== UNWATCHED));
    });

    it('tells of the writes to a record in their order, however many are made at once', async (t) => {
      const engine = await open(t);
      const told = noting(engine);
      const refs = Array.from({ length: 20 }, () => sampleRef());
      await Promise.all(refs.map((ref) => created(engine.ports.records, ref)));
      for (let n = 0; n < 20; n++) {
        await Promise.all(refs.map((ref) => engine.ports.records.update(ref, { add: { n: 1 } }, token())));
      }
      await inTime(engine, () => assert.ok(told.length >= refs.length * 21));
      const inOrder = Array.from({ length: 21 }, (_, n) => n + 1);
      for (const { pk } of refs) assert.deepEqual([...new Set(versionsOf(told, pk))], inOrder);
    });

    it('tells of what was written while nobody followed, however much that is', async (t) => {
      const engine = await open(t);
      const refs = Array.from({ length: MANY }, () => sampleRef());
      for (let done = 0; done < refs.length; done += 50) {
        await Promise.all(refs.slice(done, done + 50).map((ref) => created(engine.ports.records, ref)));
      }
      const told = noting(engine);
      await inTime(engine, () => assert.equal(new Set(told.map(({ after }) => after?.pk)).size, refs.length));
    });

    it('tells of a removal for age as of any other', async (t) => {
      const engine = await open(t);
      const told = noting(engine);
      const ref = sampleRef();
      await created(engine.ports.records, { ...ref, expires: engine.now() + 1000 });
      await eventually(async () => {
        await engine.pass(60_000);
        assert.deepEqual(versionsOf(told, ref.pk), [1, 0]);
      });
    });

    it('tells again after a crash of what was not acknowledged before it, and in order', async (t) => {
      const engine = await open(t);
      const [ref, other] = [sampleRef(), sampleRef()];
      const begun = Promise.withResolvers<void>();
      engine.follow({
        onChanges: () => {
          begun.resolve();
          return new Promise(() => {});
        },
      });
      await created(engine.ports.records, ref);
      await inTime(engine, () => {});
      await begun.promise;
      for (let n = 0; n < 3; n++) await engine.ports.records.update(ref, { add: { n: 1 } }, token());
      await created(engine.ports.records, other);
      await engine.crash();
      const told = noting(engine);
      await inTime(engine, () => {
        assert.equal(versionsOf(told, other.pk).length, 1);
        assert.deepEqual(versionsOf(told, ref.pk), [1, 2, 3, 4]);
      });
    });

    it('does not tell again for ever of what was acknowledged', async (t) => {
      const engine = await open(t);
      const [ref, witness] = [sampleRef(), sampleRef()];
      const before = noting(engine);
      await created(engine.ports.records, ref);
      await inTime(engine, () => assert.equal(before.length, 1));
      // The next change is told only after the one before it was acknowledged.
      await created(engine.ports.records, sampleRef());
      await inTime(engine, () => assert.equal(before.length, 2));
      await engine.crash();
      const after = noting(engine);
      await created(engine.ports.records, witness);
      await inTime(engine, () => assert.equal(versionsOf(after, witness.pk).length, 1));
      assert.deepEqual(versionsOf(after, ref.pk), []);
    });

    it('tells again of a change that failed, before the later ones of its record', async (t) => {
      const engine = await open(t);
      const ref = sampleRef();
      const told: RecordChange[] = [];
      let failures = 0;
      engine.follow({
        onChanges: async (changes) => {
          if (versionsOf(changes, ref.pk).includes(2) && failures++ < 3) throw new Error('not yet');
          told.push(...changes);
        },
      });
      await created(engine.ports.records, ref);
      await Promise.all([2, 3, 4].map((n) => engine.ports.records.update(ref, { set: { n } }, token())));
      await inTime(engine, () => assert.equal(versionsOf(told, ref.pk).at(-1), 4));
      assert.deepEqual([...new Set(versionsOf(told, ref.pk))], [1, 2, 3, 4]);
    });

    it('does not let a change that always fails block the others', async (t) => {
      const engine = await open(t);
      const broken = sampleRef();
      const others = Array.from({ length: 10 }, () => sampleRef());
      const told: RecordChange[] = [];
      engine.follow({
        onChanges: async (changes) => {
          if (versionsOf(changes, broken.pk).length > 0) throw new Error('it always fails');
          told.push(...changes);
        },
      });
      await Promise.all([broken, ...others].map((ref) => created(engine.ports.records, ref)));
      await inTime(engine, () => assert.equal(new Set(told.map(({ after }) => after?.pk)).size, others.length));
    });
  });
};
