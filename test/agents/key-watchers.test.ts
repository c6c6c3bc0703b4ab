import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ApiKey, buildApiKey } from '../../shared/identity/auth/api-key.ts';
import { type CachedKeys, KeyWatchers } from '../../shared/identity/auth/key-watchers.ts';
import { eventually } from '../support/eventually.ts';
import { TestClock } from '../support/test-clock.ts';

const key = (name: string, expires?: number): ApiKey => ({
  ...buildApiKey({ project: 'default', name, agent: 'kay', scope: 'agent', keyHash: `hash-${name}`, expires }),
  v: 1,
  token: 'token',
  at: 0,
});

const scene = () => {
  const clock = new TestClock();
  const watchers = new KeyWatchers(clock);
  let looked = 0;
  const stored: { keys: ApiKey[] } = { keys: [key('lasting'), key('short', clock.now() + 500)] };
  const load = async (): Promise<CachedKeys> => ({
    keys: stored.keys.map((each) => {
      looked += 1;
      return each;
    }),
    until: Number.POSITIVE_INFINITY,
  });
  const ended: string[] = [];
  const watch = (name: string) =>
    watchers.watch('default/kay', { keyHash: `hash-${name}`, onEnd: () => ended.push(name) }, load);
  return { clock, watchers, stored, ended, watch, countReads: () => looked };
};

describe('the watchers of keys', () => {
  it('read the keys of an owner once for a thousand calls that begin to wait within a second', async () => {
    const { watch, countReads } = scene();
    watch('lasting');
    await eventually(() => assert.equal(countReads(), 2));
    for (let calls = 0; calls < 1000; calls++) {
      const unwatch = watch('lasting');
      await Promise.resolve();
      if (calls % 2 === 0) unwatch();
    }
    assert.equal(countReads(), 2);
  });

  it('end a call that began later than others when its own key expires', async () => {
    const { watch, clock, ended, countReads } = scene();
    watch('lasting');
    await eventually(() => assert.equal(countReads(), 2));
    watch('short');
    assert.equal(countReads(), 2);
    clock.advance(499);
    await Promise.resolve();
    assert.deepEqual(ended, []);
    clock.advance(1);
    await eventually(() => assert.deepEqual(ended, ['short']));
  });

  it('do not believe what they read before a key was ended', async () => {
    const { watch, watchers, stored, ended, countReads } = scene();
    watch('lasting');
    await eventually(() => assert.equal(countReads(), 2));
    stored.keys = [key('short')];
    watchers.end('default/kay', ['hash-other']);
    watch('lasting');
    await eventually(() => assert.deepEqual(ended, ['lasting', 'lasting']));
  });

  it('read again after a second, whatever they knew', async () => {
    const { watch, stored, clock, ended, countReads } = scene();
    watch('lasting');
    await eventually(() => assert.equal(countReads(), 2));
    stored.keys = [key('short')];
    clock.advance(1000);
    watch('lasting');
    await eventually(() => assert.deepEqual(ended, ['lasting', 'lasting']));
  });
});
