import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { queryObjects } from 'node:v8';
import { QueueBuffer } from '../../shared/engines/embedded/queue-buffer.ts';
import type { QueueKey } from '../../shared/ports/queues.ts';
import type { Item } from '../../shared/ports/records.ts';
import { engineIn } from '../support/engine-in.ts';
import { eventually } from '../support/eventually.ts';

const opened = (t: TestContext) => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-memory-'));
  const engine = engineIn(dir);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= engine.stop());
  t.after(async () => {
    await stop();
    rmSync(dir, { recursive: true });
  });
  return { ...engine, stop };
};

const taskRef = (id: number | string) => ({ pk: `p#task#${id}`, sk: 'task' });

describe('the memory of the embedded engine', () => {
  it('holds nothing of a lane once all that was sent there is gone, and what is sent there later arrives', async (t) => {
    const { queues } = opened(t).ports;
    const options = { max: 10, waitMs: 0, visibilityMs: 30_000 };
    const lanes = Array.from({ length: 50 }, (_, n): QueueKey => {
      return { project: 'p', kind: 'agent', name: `agent-${n}`, priority: 'normal' };
    });
    for (const body of ['first', 'second']) {
      for (const lane of lanes) {
        await queues.send(
          ['a', 'b'].map((group) => ({ queueKey: lane, group, dedupId: `${body}${group}`, at: 0, body })),
        );
        const [one, other] = await queues.receive([lane], options);
        assert.deepEqual([one?.body, other?.body], [body, body]);
        if (one) await queues.delete([one]);
        if (other) await queues.release([other]);
        const again = await queues.receive([lane], options);
        assert.deepEqual(
          again.map(({ group }) => group),
          ['b'],
        );
        await queues.delete(again);
      }
      assert.equal(queryObjects(QueueBuffer, { format: 'count' }), 0);
    }
  });

  it('is not filled by those who write faster than is followed, and what follows never waits for them', async (t) => {
    const engine = opened(t);
    const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let followed = 0;
    engine.start({
      onChanges: async (changes) => {
        begun.resolve();
        await slow.promise;
        for (const { after } of changes) {
          await engine.effectPorts.records.create<Item>({ pk: `${after?.pk}#effect`, sk: 'effect' }, randomUUID());
        }
        followed += changes.length;
      },
      onTimer: async () => {},
    });
    const count = 6000;
    let written = 0;
    const write = async (id: number): Promise<void> => {
      await engine.ports.records.create<Item>(taskRef(id), randomUUID());
      written += 1;
    };
    await write(0);
    await begun.promise;
    const all = Promise.all(Array.from({ length: count }, (_, n) => write(n + 1)));
    // What follows from a change and is itself followed goes through though requests wait.
    await eventually(() => assert.ok(written > 4000));
    await engine.effectPorts.records.create<Item>(taskRef('derived'), randomUUID());
    const waiting = count - written;
    assert.ok(waiting > 1000, `${waiting} wait`);
    slow.resolve();
    await all;
    await eventually(() => assert.equal(followed, count + 2));
  });

  it('lets those write who wait when it stops', async (t) => {
    const engine = opened(t);
    const slow = Promise.withResolvers<void>();
    engine.start({ onChanges: () => slow.promise, onTimer: async () => {} });
    const all = Promise.all(
      Array.from({ length: 6000 }, (_, n) => engine.ports.records.create<Item>(taskRef(n), randomUUID())),
    );
    const stopped = engine.stop();
    slow.resolve();
    await stopped;
    assert.ok((await all).every(({ outcome }) => outcome === 'written'));
  });
});
