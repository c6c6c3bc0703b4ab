import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equals, exists, notExists } from '../../shared/ports/conditions.ts';
import type { IndexName, RecordQuery, Records } from '../../shared/ports/records.ts';
import { eventually } from '../support/eventually.ts';
import { created, type Open, type Sample, sampleRef, token, unique } from './engine-under-test.ts';

const KEYS = ['b#2', 'a', 'b#10', 'c', 'b#1', 'b', 'B#1', 'b~', 'ba'];
/** In the order of their bytes. */
const SORTED = ['B#1', 'a', 'b', 'b#1', 'b#10', 'b#2', 'ba', 'b~', 'c'];

/** A query, and what it must find of the keys above. */
const CASES: [Omit<RecordQuery, 'pk' | 'index'>, string[]][] = [
  [{ limit: 100 }, SORTED],
  [{ limit: 100, newestFirst: true }, SORTED.toReversed()],
  [{ limit: 2 }, ['B#1', 'a']],
  [{ limit: 2, newestFirst: true }, ['c', 'b~']],
  [{ limit: 100, prefix: 'b#' }, ['b#1', 'b#10', 'b#2']],
  [{ limit: 100, prefix: 'b#1' }, ['b#1', 'b#10']],
  [{ limit: 2, prefix: 'b#', newestFirst: true }, ['b#2', 'b#10']],
  [{ limit: 100, prefix: 'x' }, []],
  [{ limit: 100, after: 'b#10' }, ['b#2', 'ba', 'b~', 'c']],
  [{ limit: 100, after: 'b#11' }, ['b#2', 'ba', 'b~', 'c']],
  [{ limit: 100, after: 'b#10', newestFirst: true }, ['b#1', 'b', 'a', 'B#1']],
  [{ limit: 100, after: 'b#1', prefix: 'b#' }, ['b#10', 'b#2']],
  [{ limit: 1, after: 'b#2', prefix: 'b#', newestFirst: true }, ['b#10']],
  [{ limit: 100, after: 'c' }, []],
  // The key that it begins behind need not have the prefix.
  [{ limit: 2, after: 'a', prefix: 'b#' }, ['b#1', 'b#10']],
  [{ limit: 2, after: 'c', prefix: 'b#', newestFirst: true }, ['b#2', 'b#10']],
  [{ limit: 100, after: 'c', prefix: 'b' }, []],
  [{ limit: 100, after: 'a', prefix: 'b', newestFirst: true }, []],
];

export const queriesContract = (name: string, open: Open): void => {
  describe(`queries of ${name}`, () => {
    it('finds the records of one partition key in order, by prefix, from behind a key, and so many', async (t) => {
      const { records } = (await open(t)).ports;
      const p = unique('p#many');
      await Promise.all(KEYS.map((sk) => created(records, { pk: p, sk })));
      await created(records, { pk: `${p}2`, sk: 'b' });
      for (const [query, expected] of CASES) {
        const found = await records.query({ ...query, pk: p });
        assert.deepEqual(
          found.map(({ sk }) => sk),
          expected,
          JSON.stringify(query),
        );
      }
    });

    for (const index of ['byList', 'byHolder'] as const) {
      it(`finds the records of one place in the index ${index}, whole and in order`, async (t) => {
        const { records } = (await open(t)).ports;
        const p = unique('p#place');
        const items = await Promise.all(
          KEYS.map((s) => created(records, { ...sampleRef(), [index]: { pk: p, sk: s }, sk: s })),
        );
        await created(records, { ...sampleRef(), [index]: { pk: `${p}2`, sk: 'b' } });
        await created(records, { ...sampleRef(), [index]: { pk: p } });
        await created(records, sampleRef(p));
        for (const [query, expected] of CASES) {
          const whole = expected.map((key) => items.find(({ sk: s }) => s === key));
          await eventually(async () =>
            assert.deepEqual(await records.query({ ...query, index, pk: p }), whole, JSON.stringify(query)),
          );
        }
      });
    }

    it('goes through all of them page by page', async (t) => {
      const { records } = (await open(t)).ports;
      const p = unique('p#pages');
      const keys = Array.from({ length: 25 }, (_, number) => String(number).padStart(3, '0'));
      await Promise.all(keys.map((sk) => created(records, { pk: p, sk })));
      assert.deepEqual(await pages(records, { pk: p, limit: 4 }), keys);
      assert.deepEqual(await pages(records, { pk: p, limit: 4, newestFirst: true }), keys.toReversed());
    });

    it('moves a record in an index with its state, and out of it', async (t) => {
      const { records } = (await open(t)).ports;
      const [here, there, ref] = [unique('p#here'), unique('p#there'), sampleRef()];
      const found = async (): Promise<(number | undefined)[]> => {
        const places = [here, there].map((p) => records.query<Sample>({ index: 'byList', pk: p, limit: 10 }));
        return (await Promise.all(places)).map(([item]) => item?.v);
      };
      await created(records, { ...ref, byList: { pk: here, sk: '1' } });
      await eventually(async () => assert.deepEqual(await found(), [1, undefined]));
      await records.update(ref, { set: { byList: { pk: there, sk: '1' } } }, token());
      await eventually(async () => assert.deepEqual(await found(), [undefined, 2]));
      await records.update(ref, { set: { other: 1 } }, token());
      await eventually(async () => assert.deepEqual(await found(), [undefined, 3]));
      await records.update(ref, { unset: ['byList'] }, token());
      await eventually(async () => assert.deepEqual(await found(), [undefined, undefined]));
      await records.update(ref, { set: { byList: { pk: here, sk: '2' } } }, token());
      await eventually(async () => assert.deepEqual(await found(), [5, undefined]));
      await records.delete(ref);
      await eventually(async () => assert.deepEqual(await found(), [undefined, undefined]));
    });

    it('puts a record in the place that it knows from the start when it is told where in it, without a look', async (t) => {
      const { records } = (await open(t)).ports;
      const [p, other, ref] = [unique('p#inbox'), unique('p#other'), sampleRef()];
      const found = async (place: string): Promise<(string | undefined)[]> =>
        (await records.query<Sample>({ index: 'byList', pk: place, limit: 10 })).map(({ byList }) => byList?.sk);
      await created(records, { ...ref, status: 'open', byList: { pk: p } });
      await records.update(ref, { if: equals('status', 'open'), set: { status: 'ended', 'byList.sk': '7' } }, token());
      await eventually(async () => assert.deepEqual(await found(p), ['7']));
      assert.deepEqual((await records.get<Sample>(ref))?.byList, { pk: p, sk: '7' });
      await records.update(ref, { if: equals('byList.sk', '7'), set: { byList: { pk: other } } }, token());
      await eventually(async () => assert.deepEqual(await found(p), []));
      assert.deepEqual(await found(other), []);
      assert.deepEqual((await records.get<Sample>(ref))?.byList, { pk: other });
      await records.update(ref, { if: notExists('byList.sk'), set: { 'byList.sk': '8' } }, token());
      await eventually(async () => assert.deepEqual(await found(other), ['8']));
      await records.update(ref, { if: exists('byList.sk'), unset: ['byList.sk'] }, token());
      await eventually(async () => assert.deepEqual(await found(other), []));
    });

    it('keeps a record in both indexes at once, each in its own place', async (t) => {
      const { records } = (await open(t)).ports;
      const [here, there, ref] = [unique('p#here'), unique('p#there'), sampleRef()];
      const found = async (index: IndexName, p: string) => (await records.query({ index, pk: p, limit: 10 })).length;
      await created(records, { ...ref, byList: { pk: here, sk: '1' }, byHolder: { pk: there, sk: '1' } });
      await eventually(async () =>
        assert.deepEqual([await found('byList', here), await found('byHolder', there)], [1, 1]),
      );
      assert.deepEqual([await found('byList', there), await found('byHolder', here)], [0, 0]);
      await records.update(ref, { unset: ['byHolder'] }, token());
      await eventually(async () =>
        assert.deepEqual([await found('byList', here), await found('byHolder', there)], [1, 0]),
      );
    });

    it('counts only what has not expired towards the limit', async (t) => {
      const { ports, now, pass } = await open(t);
      const p = unique('p#mixed');
      for (const sk of ['1', '2', '3', '4']) {
        await created(ports.records, { pk: p, sk, ...(sk < '3' && { expires: now() + 1000 }) });
      }
      await pass(1000);
      const found = await ports.records.query({ pk: p, limit: 2 });
      assert.deepEqual(
        found.map(({ sk }) => sk),
        ['3', '4'],
      );
    });
  });
};

const pages = async (records: Records, query: RecordQuery): Promise<string[]> => {
  const keys: string[] = [];
  for (;;) {
    const page = await records.query({ ...query, after: keys.at(-1) });
    keys.push(...page.map(({ sk }) => sk));
    if (page.length < query.limit) return keys;
  }
};
