import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Limit } from '../../shared/model/limit.ts';
import { addStart, findNextStartAt } from '../../shared/model/limit-places.ts';

const DAY = { starts: 1000, seconds: 86_400 };
const SECOND = { starts: 100, seconds: 1 };

describe('the starts of a key', () => {
  it('take no more room after a day of a short rate, where a long one came first', () => {
    let now = 1_700_000_000_000;
    let key: Pick<Limit, 'starts' | 'windowMs'> = addStart({}, DAY, now);
    for (let count = 0; count < 5000; count++) {
      now += 100;
      key = addStart(key, SECOND, now);
    }
    assert.ok((key.starts ?? []).length <= 100, `${key.starts?.length} entries`);
    const total = (key.starts ?? []).reduce((sum, [, count]) => sum + count, 0);
    assert.equal(total, 5001);
    assert.equal(findNextStartAt(key, SECOND, now), undefined);
    assert.ok((findNextStartAt(key, DAY, now) ?? 0) > now);
  });
});
