import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedEngine, openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import type { Item } from '../../shared/ports/records.ts';
import { TestClock } from '../support/test-clock.ts';
import { folder } from './numbered-rows.ts';

const PAGE_BYTES = 8192;
const HOUR_MS = 3_600_000;

const open = (dir: string, clock: TestClock, onFailure?: (error: unknown) => void): EmbeddedEngine =>
  openEmbeddedEngine({ dir, clock, log: () => {}, newId: randomUUID, kinds: [], eventRetentionMs: HOUR_MS, onFailure });

/** A stopped folder in which the page of a record is damaged, and the indexes that lead to it are whole. */
const damaged = async (t: TestContext, clock: TestClock, stamps: object): Promise<string> => {
  const dir = folder(t);
  const engine = open(dir, clock);
  await engine.ports.records.create<Item>({ pk: 'p#task', sk: 'task', ...stamps }, 'w1');
  await engine.stop();
  const sql = new DatabaseSync(join(dir, 'parley.db'), { readOnly: true });
  const page = Number(sql.prepare(`SELECT pageno FROM dbstat WHERE name = 'records'`).get()?.pageno);
  sql.close();
  const file = openSync(join(dir, 'parley.db'), 'r+');
  writeSync(file, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(file);
  return dir;
};

describe('damage that the timers find', () => {
  const FINDS = { 'a record that is due': 'due', 'a record that has expired': 'expires' };
  for (const [what, stamp] of Object.entries(FINDS)) {
    it(`is a failure of the storage, told once: in ${what}`, async (t) => {
      const clock = new TestClock();
      const dir = await damaged(t, clock, { [stamp]: clock.now() + HOUR_MS });
      const failed = Promise.withResolvers<unknown>();
      let times = 0;
      const engine = open(dir, clock, (error) => {
        times += 1;
        failed.resolve(error);
      });
      engine.start({ onChanges: async () => {}, onTimer: async () => {} });
      // What sweeps sleeps only once it has swept.
      for (let hours = 0; hours < 10 && times === 0; hours++) {
        clock.advance(HOUR_MS);
        await sleep(10);
      }
      assert.equal(times, 1);
      const error = await failed.promise;
      assert.ok(error instanceof Error && 'errcode' in error && Number(error.errcode) % 256 === 11, String(error));
      clock.advance(2 * HOUR_MS);
      await engine.stop();
      assert.equal(times, 1);
    });
  }
});
