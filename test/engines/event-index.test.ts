import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import { eventually } from '../support/eventually.ts';
import { TestClock } from '../support/test-clock.ts';

const RETENTION_MS = 60_000;
const FREQUENT = { agent: 'worker', domain: 'kitchen' };

const folder = (t: TestContext): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-event-index-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

const open = (dir: string, clock = new TestClock()) =>
  openEmbeddedEngine({
    dir,
    clock,
    log: () => {},
    newId: () => crypto.randomUUID(),
    kinds: [],
    eventRetentionMs: RETENTION_MS,
  });

const about = (id: string, data: ParleyEvent['data']): ParleyEvent => ({
  id,
  project: 'p',
  type: 'task.requested',
  at: 1,
  data,
});

const publishTasks = async ({ ports }: ReturnType<typeof open>, first: number, count: number): Promise<void> => {
  for (let number = first; number < first + count; number++)
    await ports.events.publish([about(`${number}`, { taskId: `t${number}`, ...FREQUENT })]);
};

const findTask = async ({ ports }: ReturnType<typeof open>, task: string): Promise<string[]> =>
  (await ports.events.read('p', { subject: { task }, limit: 5 })).events.map(({ id }) => id);

const countEntries = (dir: string): number => {
  const sql = new DatabaseSync(join(dir, 'parley.db'));
  try {
    return Number(sql.prepare('SELECT count(*) AS count FROM event_subjects').get()?.count);
  } finally {
    sql.close();
  }
};

describe('the index of events by subject', () => {
  it('finds a rare event behind thousands of others in one read, from either end', async (t) => {
    const engine = open(folder(t));
    t.after(() => engine.stop());
    const others = Array.from({ length: 20 }, (_, index) => about(`x${index}`, { taskId: `x${index}`, ...FREQUENT }));
    for (let count = 0; count < 100; count++) await engine.ports.events.publish(others);
    await engine.ports.events.publish([about('rare', { taskId: 'rare', ...FREQUENT })]);
    for (let count = 0; count < 100; count++) await engine.ports.events.publish(others);
    for (const newestFirst of [false, true]) {
      const page = await engine.ports.events.read('p', { subject: { task: 'rare' }, newestFirst, limit: 5 });
      assert.deepEqual(
        page.events.map(({ id }) => id),
        ['rare'],
      );
      const rest = await engine.ports.events.read('p', {
        subject: { task: 'rare' },
        after: page.cursor,
        newestFirst,
        limit: 5,
      });
      assert.deepEqual([rest.events, rest.cursor], [[], page.cursor]);
    }
  });

  it('has what a crash left in the journal, and what comes after it', async (t) => {
    const dir = folder(t);
    const engine = open(dir);
    t.after(() => engine.stop());
    await publishTasks(engine, 0, 20);
    assert.deepEqual(await findTask(engine, 't3'), ['3']);
    await publishTasks(engine, 20, 20);
    const left = folder(t);
    cpSync(dir, left, { recursive: true });
    const after = open(left);
    t.after(() => after.stop());
    await publishTasks(after, 40, 1);
    for (const number of [0, 3, 19, 20, 39, 40]) assert.deepEqual(await findTask(after, `t${number}`), [`${number}`]);
  });

  it('forgets events with the log', async (t) => {
    const [dir, clock] = [folder(t), new TestClock()];
    const engine = open(dir, clock);
    engine.start({ onChanges: async () => {}, onTimer: async () => {} });
    await publishTasks(engine, 0, 100);
    clock.advance(RETENTION_MS / 2);
    await publishTasks(engine, 100, 1);
    await findTask(engine, 't100');
    await eventually(async () => {
      clock.advance(RETENTION_MS / 2);
      assert.deepEqual(await findTask(engine, 't3'), []);
      const { events } = await engine.ports.events.read('p', { limit: 5 });
      assert.deepEqual(events, []);
    });
    await publishTasks(engine, 101, 20);
    await eventually(async () => {
      clock.advance(1000);
      assert.deepEqual(await findTask(engine, 't120'), ['120']);
    });
    await engine.stop();
    // Of the events that are left, and of the block that the deleted ones began.
    assert.ok(countEntries(dir) <= 45, `${countEntries(dir)} entries`);
  });
});
