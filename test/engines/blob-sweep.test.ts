import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type EmbeddedEngine, openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import type { EngineHandlers } from '../../shared/ports/engine-handlers.ts';
import { eventually } from '../support/eventually.ts';
import { TestClock } from '../support/test-clock.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** A folder that an engine is opened on again and again, while days pass. */
const site = (t: TestContext) => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-sweep-'));
  const clock = new TestClock();
  const logged: string[] = [];
  const opened: EmbeddedEngine[] = [];
  t.after(async () => {
    for (const engine of opened) await engine.stop();
    rmSync(dir, { recursive: true });
  });
  const open = (changes?: EngineHandlers['onChanges']): EmbeddedEngine => {
    const log = (_level: string, message: string) => logged.push(message);
    const engine = openEmbeddedEngine({
      dir,
      clock,
      log,
      newId: randomUUID,
      kinds: ['task'],
      eventRetentionMs: DAY_MS,
    });
    opened.push(engine);
    if (changes) engine.start({ onChanges: changes, onTimer: async () => {} });
    return engine;
  };
  const stop = async (engine: EmbeddedEngine): Promise<void> => {
    opened.splice(opened.indexOf(engine), 1);
    await engine.stop();
  };
  return { dir, clock, logged, open, stop };
};

const named = (n: number) => ({ pk: `p#${n}`, sk: 'task' as const });

/** So many sweeps that one of them has begun after each had its turn. */
const sweeps = async (clock: TestClock): Promise<void> => {
  for (let n = 0; n < 5; n++) {
    clock.advance(HOUR_MS);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

describe('blobs that no record owns', () => {
  it('go a day after they were put, and with them what a crash left half written', async (t) => {
    const { dir, clock, open } = site(t);
    const { blobs } = open(async () => {}).ports;
    await blobs.put('p/task/old', 'old');
    writeFileSync(join(dir, 'blobs', 'new', 'half.written'), 'hal');
    clock.advance(DAY_MS * 300);
    await blobs.put('p/task/young', 'young');
    await eventually(async () => {
      clock.advance(HOUR_MS);
      assert.equal(await blobs.get('p/task/old'), undefined);
      assert.equal(readdirSync(join(dir, 'blobs', 'new')).length, 1);
    });
    assert.equal(await blobs.get('p/task/young'), 'young');
  });

  it('go at the next start, once they are a day old', async (t) => {
    const { clock, open, stop } = site(t);
    const before = open(async () => {});
    await before.ports.blobs.put('p/task/old', 'old');
    await stop(before);
    clock.advance(2 * DAY_MS);
    const { blobs } = open(async () => {}).ports;
    await eventually(async () => assert.equal(await blobs.get('p/task/old'), undefined));
  });

  it('stay while a change of the life before, which may name them, has not been carried out', async (t) => {
    const carriedOut = Promise.withResolvers<void>();
    t.after(() => carriedOut.resolve());
    const { clock, open, stop } = site(t);
    const before = open();
    await before.ports.blobs.put('p/task/named', 'named');
    await before.ports.records.create(named(1), randomUUID());
    await stop(before);
    clock.advance(2 * DAY_MS);
    const after = open(async () => {
      await carriedOut.promise;
      await after.effectPorts.blobs.retain('p/task/named');
    });
    const { blobs } = after.ports;
    await blobs.put('p/task/unowned', 'unowned');
    clock.advance(2 * DAY_MS);
    await sweeps(clock);
    assert.deepEqual([await blobs.get('p/task/named'), await blobs.get('p/task/unowned')], ['named', 'unowned']);
    carriedOut.resolve();
    await eventually(async () => {
      clock.advance(HOUR_MS);
      assert.equal(await blobs.get('p/task/unowned'), undefined);
    });
    assert.equal(await blobs.get('p/task/named'), 'named');
  });

  it('stay while a change is put aside', async (t) => {
    const { clock, logged, open } = site(t);
    const { blobs, records } = open(async () => {
      throw new Error('a bug');
    }).ports;
    await blobs.put('p/task/named', 'named');
    await records.create(named(1), randomUUID());
    await eventually(() => {
      clock.advance(HOUR_MS / 60);
      assert.ok(logged.includes('change parked after max attempts'), logged.join());
    });
    clock.advance(2 * DAY_MS);
    await sweeps(clock);
    assert.equal(await blobs.get('p/task/named'), 'named');
  });

  it('stay while a change that may name them has not been carried out, however long that takes', async (t) => {
    const carriedOut = Promise.withResolvers<void>();
    t.after(() => carriedOut.resolve());
    const { clock, open } = site(t);
    const engine = open(async () => {
      await carriedOut.promise;
      await engine.effectPorts.blobs.retain('p/task/named');
    });
    const { blobs, records } = engine.ports;
    await blobs.put('p/task/named', 'named');
    await records.create(named(1), randomUUID());
    clock.advance(2 * DAY_MS);
    await sweeps(clock);
    carriedOut.resolve();
    await sweeps(clock);
    assert.equal(await blobs.get('p/task/named'), 'named');
  });

  it('stay while the record that will name them is being written, though the clock jumps', async (t) => {
    const { clock, open } = site(t);
    const { ports, effectPorts } = open(async () => {});
    await ports.blobs.put('p/task/named', 'named');
    await sweeps(clock);
    clock.advance(300 * DAY_MS);
    await new Promise((resolve) => setTimeout(resolve, 10));
    await effectPorts.blobs.retain('p/task/named');
    await sweeps(clock);
    assert.equal(await ports.blobs.get('p/task/named'), 'named');
  });

  it('are not looked for among what older versions have stored', async (t) => {
    const { dir, clock, open, stop } = site(t);
    await stop(open());
    mkdirSync(join(dir, 'blobs', 'ab'), { recursive: true });
    writeFileSync(join(dir, 'blobs', 'ab', 'abc'), 'owned');
    open(async () => {});
    clock.advance(2 * DAY_MS);
    await sweeps(clock);
    assert.deepEqual(readdirSync(join(dir, 'blobs', 'ab')), ['abc']);
  });
});
