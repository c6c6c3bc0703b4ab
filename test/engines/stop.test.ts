import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Item, NewItem } from '../../shared/ports/records.ts';
import { engineIn } from '../support/engine-in.ts';

describe('the end of the embedded engine', () => {
  it('frees the file where a change fails meanwhile, and tells of that change after the next start', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-stop-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const [begun, failing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = engineIn(dir);
    first.start({
      onChanges: () => {
        begun.resolve();
        return failing.promise;
      },
      onTimer: async () => {},
    });
    await first.ports.records.create<Item>({ pk: 'p#task#1', sk: 'task' }, 'w1');
    await begun.promise;
    const stopping = first.stop();
    failing.reject(new Error('it fails while everything stops'));
    await stopping;

    const second = engineIn(dir);
    const told = Promise.withResolvers<string | undefined>();
    second.start({ onChanges: async ([change]) => told.resolve(change?.after?.pk), onTimer: async () => {} });
    assert.equal(await told.promise, 'p#task#1');
    await second.stop();
  });

  it('comes to rest where the storage has failed with changes left to tell', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-stop-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const [begun, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const engine = engineIn(dir);
    let calls = 0;
    engine.start({
      onChanges: () => {
        calls += 1;
        begun.resolve();
        // Ends what would otherwise go round for ever.
        return calls < 100 ? failed.promise : new Promise(() => {});
      },
      onTimer: async () => {},
    });
    await engine.ports.records.create<Item>({ pk: 'p#task#1', sk: 'task' }, 'w1');
    await begun.promise;
    const unwritable: Unwritable = { pk: 'p#task#2', sk: 'task', toJSON: () => assert.fail('it cannot be written') };
    await assert.rejects(engine.ports.records.create(unwritable, 'w2'), { code: 'storage_unavailable' });
    failed.resolve();
    await turn();
    assert.equal(calls, 1);
    await engine.stop();
  });
});

interface Unwritable extends NewItem<Item> {
  toJSON: () => never;
}
