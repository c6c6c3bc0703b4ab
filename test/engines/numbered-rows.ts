import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../shared/engines/embedded/database.ts';
import type { RecordedStatement, StorageOptions } from '../../shared/engines/embedded/sqlite-file.ts';

export const folder = (owner: { after(cleanUp: () => unknown): unknown }): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-journal-'));
  owner.after(() => rmSync(dir, { recursive: true }));
  return dir;
};

/** Large enough that SQLite commits every few dozen writes. */
const TEXT = 'x'.repeat(100_000);

/** Rows that are numbered from 1 on, each written alone. */
export class Numbered {
  readonly db: Database;
  acknowledged = 0;
  #last = 0;
  readonly #insert: RecordedStatement;

  constructor(dir: string, options?: StorageOptions) {
    this.db = new Database(join(dir, 'parley.db'), options);
    this.#insert = this.db.prepareWrite("INSERT INTO records (pk, sk, body) VALUES (?, 'task', ?)");
  }

  /** Goes on behind what is there. */
  static after(dir: string, count: number): Numbered {
    const rows = new Numbered(dir);
    rows.#last = count;
    return rows;
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
export const countIn = async (dir: string): Promise<number> => {
  const db = new Database(join(dir, 'parley.db'));
  const rows = db.sql.prepare('SELECT pk, body = ? AS isWhole FROM records ORDER BY id').all(TEXT);
  await db.close();
  assert.deepEqual(
    rows.map(({ pk, isWhole }) => [pk, isWhole]),
    rows.map((_, index) => [String(index + 1), 1]),
  );
  return rows.length;
};
