import assert from 'node:assert/strict';
import fs, { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Database } from '../../shared/engines/embedded/database.ts';
import type { Writer } from '../../shared/engines/embedded/sqlite-file.ts';
import { FailingPower } from './failing-power.ts';

const folder = (t: TestContext): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-journal-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
};

/** Large enough that SQLite commits every few dozen writes. */
const TEXT = 'x'.repeat(100_000);

/** Rows that are numbered from 1 on, each written alone. */
class Numbered {
  readonly db: Database;
  acknowledged = 0;
  #last = 0;
  readonly #insert: Writer;

  constructor(dir: string) {
    this.db = new Database(join(dir, 'parley.db'));
    this.#insert = this.db.writer("INSERT INTO records (pk, sk, body) VALUES (?, 'task', ?)");
  }

  async write(): Promise<void> {
    this.#last += 1;
    const name = String(this.#last);
    await this.db.write(() => this.#insert.run(name, TEXT));
    this.acknowledged = Number(name);
  }

  /** Nobody waits until it is on the disk, but nothing that was written later may be there without it. */
  async writeUnsynced(): Promise<void> {
    this.#last += 1;
    const name = String(this.#last);
    await this.db.writeUnsynced(() => this.#insert.run(name, TEXT));
  }
}

/** How many rows are in a folder, of which none may be missing in between. */
const countIn = async (dir: string): Promise<number> => {
  const db = new Database(join(dir, 'parley.db'));
  const rows = db.sql.prepare('SELECT pk, body = ? AS isWhole FROM records ORDER BY id').all(TEXT);
  await db.close();
  assert.deepEqual(
    rows.map(({ pk, isWhole }) => [pk, isWhole]),
    rows.map((_, index) => [String(index + 1), 1]),
  );
  return rows.length;
};

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
    const rows = new Numbered(dir);
    const failures: { left: string; acknowledged: number }[] = [];
    power.beforeSync = () => {
      const left = folder(t);
      power.failInto(left);
      failures.push({ left, acknowledged: rows.acknowledged });
    };
    // A few together are synced off the main thread, one alone is not.
    for (let round = 0; round < 45; round++) {
      await Promise.all(Array.from({ length: round % 3 === 0 ? 6 : 1 }, () => rows.write()));
      for (let more = 0; more < round % 6; more++) await rows.writeUnsynced();
    }
    power.beforeSync = () => {};
    power.release();
    await rows.db.close();
    for (const { left, acknowledged } of failures) {
      const count = await countIn(left);
      assert.ok(count >= acknowledged, `${count} of ${acknowledged} acknowledged writes are left`);
    }
    assert.ok(failures.length > 40);
  });

  it('ends before an entry that is not whole', async (t) => {
    const dir = folder(t);
    const rows = new Numbered(dir);
    for (let write = 1; write <= 3; write++) await rows.write();
    const left = join(folder(t), 'left');
    cpSync(dir, left, { recursive: true });
    await rows.db.close();
    const [file = ''] = ['parley.db-log-0', 'parley.db-log-1'].filter((name) => statSync(join(left, name)).size > 0);
    const content = readFileSync(join(left, file));
    content.writeUInt8(0, content.lastIndexOf('x'));
    writeFileSync(join(left, file), content);
    assert.equal(await countIn(left), 2);
  });

  it('does not go on behind damage in an earlier part', async (t) => {
    const [dir, left] = [folder(t), folder(t)];
    const rows = new Numbered(dir);
    // What was on the disk before the first commit of SQLite, and the journal from after it.
    for (const end of ['', '-wal']) cpSync(join(dir, `parley.db${end}`), join(left, `parley.db${end}`));
    for (let write = 1; write <= 50; write++) await rows.write();
    const logs = ['parley.db-log-0', 'parley.db-log-1'].map((name) => ({
      name,
      content: readFileSync(join(dir, name)),
    }));
    await rows.db.close();
    for (const { name, content } of logs) writeFileSync(join(left, name), content);
    const whole = join(folder(t), 'whole');
    cpSync(left, whole, { recursive: true });
    assert.equal(await countIn(whole), 50);
    const [{ name, content } = { name: '', content: Buffer.alloc(0) }] = logs.toSorted(
      (a, b) => a.content.readDoubleLE(8) - b.content.readDoubleLE(8),
    );
    content.writeUInt8(0, 2_000_000);
    writeFileSync(join(left, name), content);
    const count = await countIn(left);
    assert.ok(count > 10 && count < 30, `${count} rows are left`);
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

  it('is not taken for that of another database', async (t) => {
    const [one, other] = [folder(t), folder(t)];
    const rows = new Numbered(one);
    await rows.write();
    for (const name of ['parley.db-log-0', 'parley.db-log-1']) cpSync(join(one, name), join(other, name));
    await rows.db.close();
    assert.equal(await countIn(other), 0);
  });
});
