import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { backUpStorage } from '../../shared/engines/embedded/back-up.ts';
import { countIn, folder, Numbered } from './numbered-rows.ts';

/** SQLite copies its WAL into the database about every 320 of these rows, and then begins it anew. */
const ROWS_WHILE_COPYING = 700;

/** Runs between the copy of the database and what follows it. */
const afterCopyOf = (t: TestContext, name: string, act: () => Promise<void>): void => {
  const { copyFile } = fs;
  fs.copyFile = async (from, ...rest) => {
    await copyFile(from, ...rest);
    if (String(from).endsWith(name)) await act();
  };
  syncBuiltinESMExports();
  t.after(() => {
    fs.copyFile = copyFile;
    syncBuiltinESMExports();
  });
};

describe('a backup of the embedded engine', () => {
  it('has all that was acknowledged when it is whole, however much is written while the database is copied', async (t) => {
    const [dir, copy] = [folder(t), join(folder(t), 'copy')];
    const rows = new Numbered(dir);
    t.after(() => rows.db.close());
    for (let count = 0; count < 20; count++) await rows.write();
    afterCopyOf(t, 'parley.db', async () => {
      for (let count = 0; count < ROWS_WHILE_COPYING; count++) await rows.write();
    });
    const held = { deletes: 0, now: 0 };
    const holdDeletes = () => {
      held.deletes += 1;
      held.now += 1;
      return () => {
        held.now -= 1;
      };
    };
    await backUpStorage({ dir, holdCheckpoints: () => rows.db.holdCheckpoints(), holdDeletes }, copy);
    assert.equal(await countIn(copy), 20 + ROWS_WHILE_COPYING);
    assert.deepEqual(held, { deletes: 1, now: 0 });
    for (let count = 0; count < 10; count++) await rows.write();
    await rows.db.close();
    assert.equal(await countIn(dir), 30 + ROWS_WHILE_COPYING);
  });
});
