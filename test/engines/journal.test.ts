import assert from 'node:assert/strict';
import fs, { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJournalFile } from '../../shared/engines/embedded/journal-file.ts';
import { eventually } from '../support/eventually.ts';
import { FailingPower } from './failing-power.ts';
import { diskError } from './full-disk.ts';
import { countIn, folder, Numbered } from './numbered-rows.ts';

describe('the journal of the embedded engine', () => {
  it('holds all that was acknowledged when the process is killed, before and after each commit of SQLite', async (t) => {
    const dir = folder(t);
    const rows = new Numbered(dir);
    t.after(() => rows.db.close());
    for (let write = 1; write <= 150; write++) {
      await rows.write();
      if (write % 7 !== 0 && write % 43 > 2) continue;
      const left = join(folder(t), 'left');
      cpSync(dir, left, { recursive: true });
      assert.equal(await countIn(left), write);
      assert.equal(await countIn(left), write, 'and again after the next start');
    }
  });

  it('loses nothing acknowledged to a power failure, whatever of the rest reached the disk', async (t) => {
    const dir = folder(t);
    const power = new FailingPower(t, dir);
    let rows: Numbered | undefined;
    const failures: { left: string; acknowledged: number }[] = [];
    // Also while the files are made.
    power.beforeSync = () => {
      const left = folder(t);
      power.failInto(left);
      failures.push({ left, acknowledged: rows?.acknowledged ?? 0 });
    };
    const numbered = new Numbered(dir);
    rows = numbered;
    // A few together are synced off the main thread, one alone is not.
    for (let round = 0; round < 45; round++) {
      await Promise.all(Array.from({ length: round % 3 === 0 ? 6 : 1 }, () => numbered.write()));
      for (let more = 0; more < round % 6; more++) await numbered.writeUnsynced();
    }
    power.beforeSync = () => {};
    power.release();
    await numbered.db.close();
    for (const { left, acknowledged } of failures) {
      const count = await countIn(left);
      assert.ok(count >= acknowledged, `${count} of ${acknowledged} acknowledged writes are left`);
    }
    assert.ok(failures.length > 40);
  });

  it('ends before a last entry that is not whole', async (t) => {
    const dir = folder(t);
    const rows = new Numbered(dir);
    for (let write = 1; write <= 3; write++) await rows.write();
    const left = join(folder(t), 'left');
    cpSync(dir, left, { recursive: true });
    await rows.db.close();
    const file = join(left, 'parley.db-log-1');
    const content = readFileSync(file);
    content.writeUInt8(0, content.lastIndexOf('x'));
    writeFileSync(file, content);
    assert.equal(await countIn(left), 2);
  });

  it('takes nothing more once it is closed, which can be done twice', async (t) => {
    const rows = new Numbered(folder(t));
    const failures: unknown[] = [];
    rows.db.onFailure = (error) => failures.push(error);
    await rows.write();
    await Promise.all([rows.db.close(), rows.db.close()]);
    await assert.rejects(rows.write(), { code: 'storage_unavailable' });
    assert.deepEqual(failures, [], 'the disk is not to blame');
  });

  it('whose last commit fails as it closes says so, and all of it is there at the next start', async (t) => {
    const dir = folder(t);
    const rows = new Numbered(dir);
    const failures: unknown[] = [];
    rows.db.onFailure = (error) => failures.push(error);
    await rows.write();
    const full = new Error('the disk is full');
    const failing = t.mock.method(fs, 'fdatasyncSync', () => {
      throw full;
    });
    syncBuiltinESMExports();
    await rows.db.close();
    failing.mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual(failures, [full]);
    assert.equal(await countIn(dir), 1);
  });
});

/** Where in a journal file the mark stands. */
const MARK_PLACE = 1024;

/** A disk on which the mark of a journal fails in this way, as long as it is said. */
const failingMarks = (t: TestContext, code: string) => {
  const { writeSync } = fs;
  const marks = { isFailing: true, failed: 0 };
  t.mock.method(fs, 'writeSync', (...args: [number, Buffer, number, number, number]) => {
    if (!marks.isFailing || args[4] !== MARK_PLACE) return writeSync(...args);
    marks.failed += 1;
    throw diskError(code);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  return marks;
};

describe('a mark in the journal', () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    it(`that finds no room is made once there is some, and nothing else fails: ${code}`, async (t) => {
      const dir = folder(t);
      const marks = failingMarks(t, code);
      const rows = new Numbered(dir);
      t.after(() => rows.db.close());
      const failures: unknown[] = [];
      rows.db.onFailure = (error) => failures.push(error);
      await rows.write();
      await eventually(() => assert.equal(marks.failed, 1));
      marks.isFailing = false;
      await eventually(() => {
        const { entries, mark } = readJournalFile(join(dir, 'parley.db-log-1'));
        assert.equal(mark?.synced, entries.at(-1)?.endOffset);
      });
      await rows.write();
      assert.deepEqual(failures, []);
    });
  }

  it('that the disk does not take is the end, as any other write is', async (t) => {
    const dir = folder(t);
    failingMarks(t, 'EIO');
    const rows = new Numbered(dir);
    const failures: unknown[] = [];
    rows.db.onFailure = (error) => failures.push(error);
    await rows.write();
    await eventually(() => assert.deepEqual(failures, [diskError('EIO')]));
    await assert.rejects(rows.write(), { code: 'storage_unavailable' });
    await rows.db.close();
    assert.equal(await countIn(dir), 1);
  });

  it('is not made where the storage was given up before its sync ended', async (t) => {
    const marks = failingMarks(t, 'EBADF');
    const ends: (() => void)[] = [];
    t.mock.method(fs, 'fdatasync', (_: number, callback: fs.NoParamCallback) => void ends.push(() => callback(null)));
    syncBuiltinESMExports();
    const rows = new Numbered(folder(t));
    // A few together are synced off the main thread.
    const writes = Promise.allSettled([rows.write(), rows.write(), rows.write()]);
    await eventually(() => assert.equal(ends.length, 1));
    rows.db.recordFailure(diskError('EIO'));
    await Promise.all([writes, rows.db.close()]);
    for (const end of ends) end();
    await sleep(1200);
    assert.equal(marks.failed, 0);
  });
});
