import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  above,
  absent,
  all,
  any,
  below,
  type Condition,
  is,
  isNot,
  oneOf,
  present,
} from '../../shared/ports/conditions.ts';
import { afterOf, created, type Open, sampleRef, token } from './engine-under-test.ts';

const SAMPLE = { status: 'open', size: 5, done: false, map: { a: 1, 'call-1': 'x' }, empty: {}, zero: 0, blank: '' };

/** An agent may have so many capabilities. */
const MANY = Array.from({ length: 256 }, (_, n) => `s${n}`);

const HOLDS: Condition[] = [
  is('status', 'open'),
  is('size', 5),
  is('done', false),
  is('zero', 0),
  is('blank', ''),
  is('map.a', 1),
  is('map.call-1', 'x'),
  isNot('status', 'closed'),
  isNot('size', '5'),
  isNot('missing', 1),
  isNot('map.missing', 1),
  isNot('missing.at-all', 1),
  below('size', 6),
  below('status', 'p'),
  below('map.a', 1.5),
  above('size', 4),
  above('status', 'opem'),
  above('zero', -1),
  oneOf('status', 'shut', 'open'),
  oneOf('map.a', 2, 1),
  oneOf('status', ...MANY, 'open'),
  present('status'),
  present('done'),
  present('blank'),
  present('empty'),
  present('map.a'),
  absent('missing'),
  absent('map.b'),
  absent('empty.a'),
  absent('missing.at-all'),
  absent('status.of'),
  all(is('size', 5), present('map.a'), any(absent('size'), above('size', 1))),
  any(is('size', 6), is('status', 'open')),
  all(any(all(is('size', 5)))),
];

const FAILS: Condition[] = [
  is('status', 'Open'),
  is('size', '5'),
  is('missing', 1),
  is('map.b', 1),
  is('missing.at-all', 1),
  isNot('size', 5),
  isNot('map.a', 1),
  below('size', 5),
  below('size', '6'),
  below('missing', 6),
  below('status', 'open'),
  above('size', 5),
  above('status', 1),
  above('missing', 'a'),
  above('map.missing', 0),
  oneOf('status', 'shut', 'ajar'),
  oneOf('size', '5'),
  oneOf('missing', 'a'),
  oneOf('status'),
  oneOf('status', ...MANY),
  present('missing'),
  present('map.b'),
  present('empty.a'),
  absent('size'),
  absent('map'),
  absent('map.a'),
  absent('zero'),
  all(is('size', 5), is('status', 'shut')),
  any(is('size', 6), is('status', 'shut')),
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
        const change = { if: absent(`map.${key}`), set: { [`map.${key}`]: odd } };
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
        assert.deepEqual(refused, { outcome: 'refused', current }, JSON.stringify(condition));
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
        const gone = { if: is(`waiting.${call}`, 7), unset: [`waiting.${call}`] };
        assert.deepEqual(afterOf(await records.update(ref, gone, token())).waiting, { other: 1 });
      }
    });

    it('refuses to update what is absent, unless it may create it', async (t) => {
      const { records } = (await open(t)).ports;
      const ref = sampleRef();
      const change = { if: any(absent('size'), below('size', 3)), set: { size: 3 } };
      assert.deepEqual(await records.update(ref, change, token()), { outcome: 'refused', current: undefined });
      assert.equal(await records.get(ref), undefined);
      const written = await records.update(ref, change, token(), 'orCreate');
      assert.ok(written.outcome === 'written' && written.before === undefined);
      const { v, size } = afterOf(written);
      assert.deepEqual({ v, size }, { v: 1, size: 3 });
      const again = await records.update(ref, change, token(), 'orCreate');
      assert.equal(again.outcome, 'refused');
      const needsOne = { if: present('size'), set: { size: 4 } };
      assert.deepEqual(await records.update(sampleRef(), needsOne, token(), 'orCreate'), {
        outcome: 'refused',
        current: undefined,
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
      const claim = { if: is('status', 'requested'), set: { status: 'claimed' }, add: { attempt: 1 } };
      const after = afterOf(await records.update(ref, claim, 'mine'));
      assert.deepEqual(await records.update(ref, claim, 'mine'), { outcome: 'written', after, again: true });
      assert.deepEqual(await records.get(ref), after);
      assert.deepEqual(await records.update(ref, claim, 'other'), { outcome: 'refused', current: after });
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
