import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  and,
  type Condition,
  equals,
  equalsAny,
  exists,
  greaterThan,
  lessThan,
  notEquals,
  notExists,
  or,
} from '../../shared/ports/conditions.ts';
import { afterOf, created, type Open, sampleRef, token } from './engine-under-test.ts';

const SAMPLE = { status: 'open', size: 5, done: false, map: { a: 1, 'call-1': 'x' }, empty: {}, zero: 0, blank: '' };

/** An agent may have so many capabilities. */
const MANY = Array.from({ length: 256 }, (_, n) => `s${n}`);

const HOLDS: Condition[] = [
  equals('status', 'open'),
  equals('size', 5),
  equals('done', false),
  equals('zero', 0),
  equals('blank', ''),
  equals('map.a', 1),
  equals('map.call-1', 'x'),
  notEquals('status', 'closed'),
  notEquals('size', '5'),
  notEquals('missing', 1),
  notEquals('map.missing', 1),
  notEquals('missing.at-all', 1),
  lessThan('size', 6),
  lessThan('status', 'p'),
  lessThan('map.a', 1.5),
  greaterThan('size', 4),
  greaterThan('status', 'opem'),
  greaterThan('zero', -1),
  equalsAny('status', 'shut', 'open'),
  equalsAny('map.a', 2, 1),
  equalsAny('status', ...MANY, 'open'),
  exists('status'),
  exists('done'),
  exists('blank'),
  exists('empty'),
  exists('map.a'),
  notExists('missing'),
  notExists('map.b'),
  notExists('empty.a'),
  notExists('missing.at-all'),
  notExists('status.of'),
  and(equals('size', 5), exists('map.a'), or(notExists('size'), greaterThan('size', 1))),
  or(equals('size', 6), equals('status', 'open')),
  and(or(and(equals('size', 5)))),
];

const FAILS: Condition[] = [
  equals('status', 'Open'),
  equals('size', '5'),
  equals('missing', 1),
  equals('map.b', 1),
  equals('missing.at-all', 1),
  notEquals('size', 5),
  notEquals('map.a', 1),
  lessThan('size', 5),
  lessThan('size', '6'),
  lessThan('missing', 6),
  lessThan('status', 'open'),
  greaterThan('size', 5),
  greaterThan('status', 1),
  greaterThan('missing', 'a'),
  greaterThan('map.missing', 0),
  equalsAny('status', 'shut', 'ajar'),
  equalsAny('size', '5'),
  equalsAny('missing', 'a'),
  equalsAny('status'),
  equalsAny('status', ...MANY),
  exists('missing'),
  exists('map.b'),
  exists('empty.a'),
  notExists('size'),
  notExists('map'),
  notExists('map.a'),
  notExists('zero'),
  and(equals('size', 5), equals('status', 'shut')),
  or(equals('size', 6), equals('status', 'shut')),
];

export const updatesContract = (name: string, open: Open): void => {
  describe(`updates of ${name}`, () => {
    it('writes where the condition holds, and shows the record before and after', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      let before = await created(records, { ...ref, ...SAMPLE });
      for (const condition of HOLDS) {
        const by = token();
        const written = await records.update(ref, { if: condition, set: { last: by } }, by);
        assert.equal(written.outcome, 'written', JSON.stringify(condition));
        const after = { ...before, last: by, token: by, v: before.v + 1, at: afterOf(written).at };
        assert.deepEqual(written, { outcome: 'written', before, after });
        assert.deepEqual(await records.get(ref), after);
        before = after;
      }
    });

    it('keeps maps and lists whatever their keys are called', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const keys = ['constructor', '__proto__', '___proto__', 'toString', 'a.b', ''];
      const odd = Object.fromEntries(keys.map((key) => [key, { in: [key, Object.fromEntries([[key, null]])] }]));
      await created(records, { ...ref, odd, map: {} });
      assert.deepEqual((await records.get(ref))?.odd, odd);
      for (const key of keys.filter(Boolean)) {
        const change = { if: notExists(`map.${key}`), set: { [`map.${key}`]: odd } };
        assert.equal((await records.update(ref, change, token())).outcome, 'written', key);
        assert.equal((await records.update(ref, change, token())).outcome, 'refused', key);
      }
      const map = Object.fromEntries(keys.filter(Boolean).map((key) => [key, odd]));
      assert.deepEqual((await records.get(ref))?.map, map);
    });

    it('keeps numbers however large or small they are', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const numbers = [0, -0.5, 1e21, 1e300, -1e300, Number.MAX_VALUE, 1e-131, -1e-300, Number.MIN_VALUE];
      await created(records, { ...ref, numbers, odd: 1e300 });
      const change = { set: { odd: 1e-300, 'map.deep': 1e300 } };
      assert.equal((await records.update(ref, change, token())).outcome, 'written');
      const read = await records.get(ref);
      assert.deepEqual([read?.numbers, read?.odd, read?.map], [numbers, 1e-300, { deep: 1e300 }]);
    });

    it('refuses where the condition does not hold, shows the record, and changes nothing', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const current = await created(records, { ...ref, ...SAMPLE });
      for (const condition of FAILS) {
        const refused = await records.update(ref, { if: condition, set: { size: 9 } }, token());
        assert.deepEqual(refused, { outcome: 'refused', existing: current }, JSON.stringify(condition));
      }
      assert.deepEqual(await records.get(ref), current);
    });

    it('sets, unsets and adds, at the top and in one level of a map', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      await created(records, { ...ref, kept: 1, gone: 1, count: 1, map: { kept: 1, gone: 1, count: 1 } });
      const change = {
        set: { new: [1], 'map.new': { deep: true } },
        unset: ['gone', 'map.gone', 'never'],
        add: { count: 2, 'map.count': -2, fresh: 4 },
      };
      const {
        pk: _pk,
        sk: _sk,
        v: _v,
        token: _token,
        at: _at,
        ...fields
      } = afterOf(await records.update(ref, change, token()));
      assert.deepEqual(fields, {
        ...{ kept: 1, new: [1], count: 3, fresh: 4 },
        map: { kept: 1, new: { deep: true }, count: -1 },
      });
    });

    it('leaves a field as it is where it is set to undefined', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      await created(records, { ...ref, size: 5 });
      const after = afterOf(await records.update(ref, { set: { size: undefined, other: 1 } }, token()));
      assert.deepEqual([after.size, after.other], [5, 1]);
    });

    it('takes a name in a map as one name, whatever is in it', async (t) => {
      const { records } = (await open(t)).ports;
      for (const call of ['call.1', 'a#b', 'constructor', 'size', '1', 'naïve 🗡']) {
        const ref = sampleRef();
        await created(records, { ...ref, waiting: { other: 1 } });
        const after = afterOf(await records.update(ref, { set: { [`waiting.${call}`]: 7 } }, token()));
        assert.deepEqual(after.waiting, { other: 1, [call]: 7 });
        const gone = { if: equals(`waiting.${call}`, 7), unset: [`waiting.${call}`] };
        assert.deepEqual(afterOf(await records.update(ref, gone, token())).waiting, { other: 1 });
      }
    });

    it('refuses to update what is absent, unless it may create it', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const change = { if: or(notExists('size'), lessThan('size', 3)), set: { size: 3 } };
      assert.deepEqual(await records.update(ref, change, token()), { outcome: 'refused', existing: undefined });
      assert.equal(await records.get(ref), undefined);
      const written = await records.update(ref, change, token(), 'orCreate');
      assert.ok(written.outcome === 'written' && written.before === undefined);
      const { v, size } = afterOf(written);
      assert.deepEqual({ v, size }, { v: 1, size: 3 });
      const again = await records.update(ref, change, token(), 'orCreate');
      assert.equal(again.outcome, 'refused');
      const needsOne = { if: exists('size'), set: { size: 4 } };
      assert.deepEqual(await records.update(sampleRef(), needsOne, token(), 'orCreate'), {
        outcome: 'refused',
        existing: undefined,
      });
    });

    it('makes a record anew where it updates or creates one that has expired', async (t) => {
      const { ports, now, pass } = await open(t);
      const ref = sampleRef();
      await created(ports.records, { ...ref, old: true, expires: now() + 1000 });
      await pass(1000);
      const after = afterOf(await ports.records.update(ref, { set: { fresh: true } }, token(), 'orCreate'));
      assert.deepEqual([after.old, after.fresh, after.expires], [undefined, true, undefined]);
      assert.deepEqual(await ports.records.get(ref), after);
    });

    it('answers written, not refused, where the same token updates again', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      await created(records, { ...ref, status: 'requested', attempt: 0 });
      const claim = { if: equals('status', 'requested'), set: { status: 'claimed' }, add: { attempt: 1 } };
      const after = afterOf(await records.update(ref, claim, 'mine'));
      assert.deepEqual(await records.update(ref, claim, 'mine'), { outcome: 'written', after, replayed: true });
      assert.deepEqual(await records.get(ref), after);
      assert.deepEqual(await records.update(ref, claim, 'other'), { outcome: 'refused', existing: after });
    });

    it('loses none of many changes that are made at once', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      await created(records, { ...ref, count: 0 });
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const by = token();
          await records.update(ref, { add: { count: 1 } }, by);
        }),
      );
      const after = await records.get(ref);
      assert.deepEqual([after?.count, after?.v], [50, 51]);
    });
  });
};
