import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Database } from '../../shared/engines/embedded/database.ts';
import { createEmbeddedBlobs } from '../../shared/engines/embedded/file-blobs.ts';
import type { Blobs } from '../../shared/ports/blobs.ts';

/** Whether a write was in the file when a process that was killed then would have left it. */
const isIn = (file: string): boolean => {
  const db = new Database(file);
  const found = db.sql.prepare("SELECT 1 FROM records WHERE pk = 'changed'").get();
  db.sql.close();
  return found !== undefined;
};

describe('blobs of the embedded engine', () => {
  for (const act of ['retain', 'delete'] as const) {
    it(`are left alone by ${act} until the change that it follows from is on the disk`, async (t) => {
      const dir = mkdtempSync(join(tmpdir(), 'parley-after-'));
      t.after(() => rmSync(dir, { recursive: true }));
      const [work, left] = [join(dir, 'work.db'), join(dir, 'left.db')];
      const db = new Database(work);
      const killed = async (): Promise<void> => {
        for (const end of ['', '-wal', '-log-0', '-log-1']) cpSync(work + end, left + end);
      };
      const nothing = async (): Promise<undefined> => {};
      const files: Blobs = { put: nothing, get: nothing, retain: killed, delete: killed };
      const insert = db.prepareWrite("INSERT INTO records (pk, sk, body) VALUES ('changed', 'task', '{}')");
      const written = db.write(() => insert.run());
      await createEmbeddedBlobs(db, files, 'soon')[act]('p/task/content');
      await written;
      await db.close();
      assert.ok(isIn(left));
    });
  }
});
