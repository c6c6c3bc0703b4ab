import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testParley } from '../support/test-parley.ts';

describe('agent directory', () => {
  it('reads an agent once for all concurrent calls, and again after it was invalidated', async (t) => {
    let reads = 0;
    const { parley, agent } = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          query: (query) => {
            if (query.pk.endsWith('worker')) reads += 1;
            return ports.records.query(query);
          },
        },
      }),
    });
    await agent('worker');
    const { directory } = parley.deps;
    const readsOf = async (act: () => Promise<unknown>): Promise<number> => {
      const before = reads;
      await act();
      return reads - before;
    };
    const ask = () => Promise.all(Array.from({ length: 100 }, () => directory.getAgent('default', 'worker')));
    directory.invalidate('default', 'worker');
    assert.equal(await readsOf(ask), 1);
    assert.equal(await readsOf(ask), 0);
    const forgotten = async (): Promise<void> => {
      directory.invalidate('default', 'worker');
      const old = directory.getAgent('default', 'worker');
      directory.invalidate('default', 'worker');
      await Promise.all([old, directory.getAgent('default', 'worker')]);
    };
    assert.equal(await readsOf(forgotten), 2);
  });
});
