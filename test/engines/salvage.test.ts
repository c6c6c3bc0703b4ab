import assert from 'node:assert/strict';
import fs, { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { StorageDamageError } from '../../shared/engines/embedded/inspect-storage.ts';
import { readJournalFile } from '../../shared/engines/embedded/journal-file.ts';
import type { SalvageReport } from '../../shared/engines/embedded/salvage-storage.ts';
import { diskError } from './full-disk.ts';
import { folder, Numbered } from './numbered-rows.ts';

const WRITES = 60;

/** What a process leaves that is killed: some of it committed by SQLite, the rest in the journal, which is damaged in one place. */
const damagedFolder = async (t: TestContext): Promise<string> => {
  const [dir, left] = [folder(t), join(folder(t), 'left')];
  const rows = new Numbered(dir);
  for (let write = 1; write <= WRITES; write++) await rows.write();
  cpSync(dir, left, { recursive: true });
  await rows.db.close();
  const [log = '', entries = []] =
    ['parley.db-log-0', 'parley.db-log-1']
      .map((name) => [join(left, name), readJournalFile(join(left, name)).entries] as const)
      .toSorted(([, a], [, b]) => (b.at(-1)?.part ?? 0) - (a.at(-1)?.part ?? 0))[0] ?? [];
  assert.ok(entries.length > 5 && (entries[0]?.part ?? 0) > 1);
  const content = readFileSync(log);
  content.fill(0xa5, (entries[2]?.offset ?? 0) + 5000, (entries[2]?.offset ?? 0) + 5512);
  writeFileSync(log, content);
  return left;
};

const CHANGING = [
  'mkdirSync',
  'openSync',
  'writeSync',
  'writeFileSync',
  'fdatasyncSync',
  'fsyncSync',
  'renameSync',
  'rmSync',
  'rmdirSync',
] as const;

/** From this step on nothing more is done to the disk, as where it is full, or where the process has ended. */
const stopAt = (t: TestContext, last: number): void => {
  let steps = 0;
  for (const name of CHANGING) {
    const act: (...args: never[]) => unknown = fs[name];
    t.mock.method(fs, name, (...args: never[]) => {
      steps += 1;
      if (steps >= last) throw diskError(name.startsWith('rm') ? 'EIO' : 'ENOSPC');
      return act(...args);
    });
  }
  syncBuiltinESMExports();
};

const goOn = (t: TestContext): void => {
  t.mock.restoreAll();
  syncBuiltinESMExports();
};

const damageIn = async (dir: string): Promise<string | undefined> => {
  try {
    await new Numbered(dir).db.close();
    return undefined;
  } catch (error) {
    if (!(error instanceof StorageDamageError)) throw error;
    return error.message;
  }
};

const openedOrSalvaged = async (dir: string): Promise<unknown> => {
  const { db } = new Numbered(dir, { acceptDamage: () => {} });
  const { count } = db.sql.prepare('SELECT count(*) AS count FROM records').get() ?? {};
  await db.close();
  return count;
};

const asideIn = (dir: string): Map<string, Buffer> =>
  new Map(
    readdirSync(dir)
      .filter((name) => name.startsWith('damaged-'))
      .flatMap((aside) => readdirSync(join(dir, aside)).map((name) => [name, readFileSync(join(dir, aside, name))])),
  );

describe('a salvage that is stopped at any step', () => {
  it('leaves the damage as it was, or the finished new storage, and all of the old files', async (t) => {
    t.after(() => goOn(t));
    const damaged = await damagedFolder(t);
    const message = await damageIn(damaged);
    assert.ok(message);
    const [dir, ends] = [join(folder(t), 'copy'), { found: 0, finished: 0 }];
    for (let last = 1, isDone = false; !isDone; last++) {
      cpSync(damaged, dir, { recursive: true });
      const told: SalvageReport[] = [];
      stopAt(t, last);
      const acceptDamage = (salvaged: SalvageReport): never => {
        told.push(salvaged);
        throw new Error('the process ends');
      };
      assert.throws(() => new Numbered(dir, { acceptDamage }));
      goOn(t);
      isDone = told.length > 0;

      const found = await damageIn(dir);
      if (found === undefined) ends.finished += 1;
      else ends.found += 1;
      assert.equal(found ?? message, message, `after step ${last}`);
      assert.equal(await openedOrSalvaged(dir), WRITES - 1, `after step ${last}`);
      const aside = asideIn(dir);
      for (const name of readdirSync(damaged).filter((file) => !file.endsWith('-shm'))) {
        assert.ok(aside.get(name)?.equals(readFileSync(join(damaged, name))), `${name} is lost after step ${last}`);
      }
      rmSync(dir, { recursive: true });
    }
    t.diagnostic(`after ${ends.found} steps the damage was found again, after ${ends.finished} the storage was whole`);
    assert.ok(ends.found > 5 && ends.finished > 5);
  });
});
