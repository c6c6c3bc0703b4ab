import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';

const opened = (dir: string) =>
  openEmbeddedEngine({
    dir,
    clock: systemClock,
    log: () => {},
    newId: randomUUID,
    kinds: [],
    eventRetentionMs: 86_400_000,
  });

const event = (id: string): ParleyEvent => ({ id, project: 'p', type: 'task.completed', at: 1, data: {} });

describe('a power failure that takes back the newest events', () => {
  it('leaves no cursor ahead of those that come in their place', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-power-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const before = opened(join(dir, 'whole'));
    await before.ports.events.publish([event('kept')]);
    // What was on the disk when the power failed: the log up to here.
    cpSync(join(dir, 'whole'), join(dir, 'taken-back'), { recursive: true });
    for (const id of ['lost', 'lost too']) await before.ports.events.publish([event(id)]);
    const cursor = await before.ports.events.getEnd('p');
    await before.stop();

    const after = opened(join(dir, 'taken-back'));
    t.after(() => after.stop());
    await after.ports.events.publish([event('new')]);
    const { events } = await after.ports.events.read('p', { after: cursor, limit: 10 });
    assert.deepEqual(
      events.map(({ id }) => id),
      ['new'],
    );
    const all = await after.ports.events.read('p', { limit: 10 });
    assert.deepEqual(
      all.events.map(({ id }) => id),
      ['kept', 'new'],
    );
  });

  it('leaves none ahead either where it takes back the first events of all', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-power-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const before = opened(join(dir, 'whole'));
    cpSync(join(dir, 'whole'), join(dir, 'taken-back'), { recursive: true });
    for (const id of ['told', 'told too']) await before.ports.events.publish([event(id)]);
    const cursor = await before.ports.events.getEnd('p');
    await before.stop();

    const after = opened(join(dir, 'taken-back'));
    t.after(() => after.stop());
    // They come again, in one batch.
    await after.ports.events.publish([event('told'), event('told too')]);
    const { events } = await after.ports.events.read('p', { after: cursor, limit: 10 });
    assert.deepEqual(
      events.map(({ id }) => id),
      ['told', 'told too'],
    );
  });
});
