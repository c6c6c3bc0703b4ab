import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import type { Item } from '../../shared/ports/records.ts';
import { eventually } from '../support/eventually.ts';
import { TestClock } from '../support/test-clock.ts';
import { FillableDisk } from './full-disk.ts';
import { folder } from './numbered-rows.ts';

const WRITES = 6000;

interface Effect extends Item {
  text: string;
}

/** A feed that is full, and writers who wait for it; what follows from a change takes more room than the journal has. */
const fullFeed = async (t: TestContext) => {
  const disk = new FillableDisk(t);
  const clock = new TestClock();
  const dir = folder(t);
  const engine = openEmbeddedEngine({
    dir,
    clock,
    log: () => {},
    newId: randomUUID,
    kinds: ['task'],
    eventRetentionMs: 86_400_000,
  });
  const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let followed = 0;
  engine.start({
    onChanges: async (changes) => {
      begun.resolve();
      await slow.promise;
      for (const { after } of changes) {
        const effect = { pk: `${after?.pk}#effect`, sk: 'effect', text: 'x'.repeat(disk.isFull ? 600_000 : 10) };
        await engine.effectPorts.records.create<Effect>(effect, randomUUID());
        await engine.effectPorts.records.create<Effect>({ ...effect, sk: 'other' }, randomUUID());
      }
      followed += changes.length;
    },
    onTimer: async () => {},
  });
  const write = (id: number | string) =>
    engine.ports.records.create<Item>({ pk: `p#task#${id}`, sk: 'task' }, randomUUID());
  await write('first');
  await begun.promise;
  let written = 1;
  const refused: unknown[] = [];
  const ends = Array.from({ length: WRITES }, (_, n) =>
    write(n).then(
      () => {
        written += 1;
      },
      ({ code }) => {
        refused.push(code);
      },
    ),
  );
  await eventually(() => assert.ok(written > 4000));
  return { engine, disk, clock, slow, write, ends, refused, written: () => written, followed: () => followed };
};

describe('a full disk with a full change feed', () => {
  it('refuses whoever waits, and whoever comes, once what follows finds no room', async (t) => {
    const { engine, disk, clock, slow, write, ends, refused, written, followed } = await fullFeed(t);
    t.after(() => engine.stop());
    disk.isFull = true;
    slow.resolve();
    await Promise.all(ends);
    assert.ok(refused.length > 1000, `${refused.length} were refused`);
    assert.deepEqual([...new Set(refused)], ['storage_full']);
    await assert.rejects(write('late'), { code: 'storage_full' });

    disk.isFull = false;
    await eventually(() => {
      clock.advance(1000);
      assert.equal(followed(), written());
    });
    assert.equal((await write('later')).outcome, 'written');
  });

  it('refuses whoever waits as soon as anybody finds no room, however slow what follows is', async (t) => {
    const { engine, disk, slow, write, ends, refused } = await fullFeed(t);
    t.after(() => {
      slow.resolve();
      return engine.stop();
    });
    disk.isFull = true;
    const text = 'x'.repeat(100_000);
    const fill = async (): Promise<never> => {
      for (;;) await engine.effectPorts.records.create<Effect>({ pk: randomUUID(), sk: 'effect', text }, randomUUID());
    };
    await assert.rejects(fill(), { code: 'storage_full' });
    await Promise.all(ends);
    assert.ok(refused.length > 1000, `${refused.length} were refused`);
    await assert.rejects(write('late'), { code: 'storage_full' });
  });
});
