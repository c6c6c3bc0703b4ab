import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { QueueKey } from '../../shared/ports/queues.ts';
import type { Item } from '../../shared/ports/records.ts';
import { engineIn } from '../support/engine-in.ts';

const TASK = { pk: 'p#task#1', sk: 'task' };
const LANE: QueueKey = { project: 'p', kind: 'domain', name: 'kitchen', priority: 'normal' };
const NOW = { max: 1, waitMs: 0, visibilityMs: 1000 };

/** Two folders: one to work in, one for what a process that is killed leaves behind. */
const folders = (t: TestContext): { work: string; left: string } => {
  const root = mkdtempSync(join(tmpdir(), 'parley-commit-'));
  t.after(() => rmSync(root, { recursive: true }));
  return { work: join(root, 'work'), left: join(root, 'left') };
};

describe('one commit of the embedded engine', () => {
  it('holds what follows from a write as well, which is then told to nobody again', async (t) => {
    const { work, left } = folders(t);
    const first = engineIn(work);
    const send = () =>
      first.effectPorts.queues.send([{ queueKey: LANE, group: '1', dedupId: '1', at: 0, body: 'work' }]);
    first.start({ onChanges: send, onTimer: async () => {} });
    await first.ports.records.create<Item>(TASK, 'w1');
    cpSync(work, left, { recursive: true });
    await first.stop();

    const second = engineIn(left);
    const told: string[] = [];
    second.start({ onChanges: async (changes) => void told.push(...changes.map(String)), onTimer: async () => {} });
    const received = await second.ports.queues.receive([LANE], NOW);
    assert.deepEqual(
      received.map(({ body }) => body),
      ['work'],
    );
    await second.ports.records.create<Item>({ ...TASK, pk: 'p#task#2' }, 'w2');
    assert.equal(told.length, 1, 'only the second write is news');
    await second.stop();
  });

  it('takes in the claim of whoever waited for the message', async (t) => {
    const { work, left } = folders(t);
    const engine = engineIn(work);
    const send = () =>
      engine.effectPorts.queues.send([{ queueKey: LANE, group: '1', dedupId: '1', at: 0, body: 'work' }]);
    engine.start({ onChanges: send, onTimer: async () => {} });
    const claimed = engine.ports.queues.receive([LANE], { ...NOW, waitMs: 1000 }).then(async () => {
      await engine.ports.records.create<Item>({ ...TASK, sk: 'claim' }, 'c1');
    });
    await engine.ports.records.create<Item>(TASK, 'w1');
    cpSync(work, left, { recursive: true });
    await claimed;
    await engine.stop();

    const after = engineIn(left);
    assert.ok(await after.ports.records.get({ ...TASK, sk: 'claim' }), 'the claim went with the request');
    await after.stop();
  });
});
