import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seeded } from '../support/hostile-ports.ts';
import { isLong } from '../support/scale.ts';
import { Generator } from './generate.ts';
import { fuzz } from './run.ts';

const INPUTS = isLong ? 100_000 : 1500;
/** A machine that runs other tests stalls by itself: `npm run fuzz` reports what is over 250 ms. */
const MOST_MS = 15_000;
const MOST_GROWTH_MB = 200;

describe('a server that is sent anything', () => {
  it(`answers ${INPUTS} inputs for every route and dialect with a code, and does not fail, end or grow`, {
    timeout: isLong ? 900_000 : 200_000,
  }, async (t) => {
    const seed = isLong ? Math.floor(Math.random() * 2 ** 31) : 1;
    const { violations, inputs, statuses, healthz, memoryMb, handles } = await fuzz(t, {
      seed,
      from: 0,
      inputs: INPUTS,
    });
    assert.deepEqual(violations, []);
    assert.equal(inputs, INPUTS);
    assert.ok((statuses['200'] ?? 0) > INPUTS / 50 && (statuses['400'] ?? 0) > INPUTS / 50, JSON.stringify(statuses));
    assert.equal(healthz.failures, 0);
    assert.ok(healthz.max < MOST_MS, `/healthz took ${healthz.max} ms`);
    assert.ok(memoryMb.end < memoryMb.begin + MOST_GROWTH_MB, JSON.stringify(memoryMb));
    assert.ok(handles.end < handles.begin + 50, JSON.stringify(handles));
  });
});

describe('what inputs are made of', () => {
  const schema = {
    type: 'object',
    required: ['id', 'list'],
    properties: {
      id: { type: 'string', pattern: '^[a-z]+$' },
      list: { type: 'array', minItems: 1, items: { $ref: '#/defs/one' } },
    },
  };
  const root = { defs: { one: { enum: ['x', 'y'] } } };
  const generator = (seed: number) => new Generator(seeded(seed), { ids: ['known', 'Known-1'] }, root);

  it('is valid where it is meant to be', () => {
    for (let seed = 0; seed < 200; seed++) {
      const { id, list } = generator(seed).valid(schema) as { id: string; list: string[] };
      assert.match(id, /^[a-z]+$/);
      assert.ok(list.length > 0 && list.every((one) => ['x', 'y'].includes(one)));
    }
  });

  it('is the same for the same seed', () => {
    const make = (): unknown => {
      const same = generator(5);
      return same.nearlyValid(same.valid(schema));
    };
    assert.deepEqual(make(), make());
  });
});
