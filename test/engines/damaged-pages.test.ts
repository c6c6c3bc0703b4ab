import assert from 'node:assert/strict';
import { closeSync, cpSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it, after as onceOver, type TestContext } from 'node:test';
import { Database } from '../../shared/engines/embedded/database.ts';
import { RecordTable } from '../../shared/engines/embedded/record-table.ts';
import type { SalvageReport } from '../../shared/engines/embedded/salvage-storage.ts';
import { folder } from './numbered-rows.ts';

const PAGE_BYTES = 8192;
const RECORDS = 3000;

const recordOf = (n: number, v: number, bytes = 900) => ({
  pk: `task-${String((n * 7919) % 100_003).padStart(6, '0')}`,
  sk: 'task',
  v,
  token: '',
  at: 0,
  text: 'x'.repeat(bytes),
});

/** Stopped, so that all of it is in the pages of `parley.db`. */
const fill = async (dir: string): Promise<void> => {
  const db = new Database(join(dir, 'parley.db'));
  const rows = new RecordTable(db);
  const send = db.prepareWrite('INSERT INTO messages (queue, seq, grp, body) VALUES (?, ?, ?, ?)');
  const publish = db.prepareWrite('INSERT INTO events (project, at, expires, batch) VALUES (?, ?, ?, ?)');
  const change = db.prepareWrite('INSERT INTO changes (seq, batch) VALUES (?, ?)');
  for (let from = 0; from < RECORDS; from += 100) {
    await db.write(() => {
      for (let n = from; n < from + 100; n++) {
        rows.insert(recordOf(n, 1));
        send.run(`camelot/lane-${n % 5}`, n + 1, 'group', 'x'.repeat(700));
        publish.run('camelot', n, n, 'x'.repeat(700));
        change.run(n + 1, 'x'.repeat(700));
      }
    });
  }
  await db.close();
};

interface Page {
  page: number;
  rows: number;
}

const leavesOf = (dir: string, name: string): Page[] => {
  const sql = new DatabaseSync(join(dir, 'parley.db'), { readOnly: true });
  const leaves = sql
    .prepare(`SELECT pageno, ncell FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path`)
    .all(name)
    .map(({ pageno, ncell }) => ({ page: Number(pageno), rows: Number(ncell) }));
  sql.close();
  return leaves;
};

const putPage = (dir: string, page: number, content: Buffer): void => {
  const file = openSync(join(dir, 'parley.db'), 'r+');
  writeSync(file, content, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(file);
};

const pageOf = (dir: string, page: number): Buffer =>
  readFileSync(join(dir, 'parley.db')).subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES);

/** Zeroes the leaves that stand at these parts of the way through a table; gives back how many rows they hold. */
const zero = (dir: string, table: string, places: number[]): number => {
  const leaves = leavesOf(dir, table);
  let rows = 0;
  for (const place of places) {
    const leaf = leaves[Math.min(leaves.length - 1, Math.floor(leaves.length * place))];
    assert.ok(leaf);
    putPage(dir, leaf.page, Buffer.alloc(PAGE_BYTES));
    rows += leaf.rows;
  }
  return rows;
};

const copied = (t: TestContext, dir: string): string => {
  const copy = join(folder(t), 'copy');
  cpSync(dir, copy, { recursive: true });
  return copy;
};

const accepted = async (dir: string): Promise<SalvageReport[]> => {
  const told: SalvageReport[] = [];
  await new Database(join(dir, 'parley.db'), { acceptDamage: (salvaged) => told.push(salvaged) }).close();
  return told;
};

const countOf = (dir: string, table: string): number => {
  const sql = new DatabaseSync(join(dir, 'parley.db'), { readOnly: true });
  const [{ count } = {}] = sql.prepare(`SELECT count(*) AS count FROM ${table} NOT INDEXED`).all();
  sql.close();
  return Number(count);
};

describe('pages of parley.db that are damaged', () => {
  const cleanUps: (() => unknown)[] = [];
  const owner = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) };
  let whole: string;

  before(async () => {
    whole = folder(owner);
    await fill(whole);
  });

  onceOver(() => {
    for (const cleanUp of cleanUps) cleanUp();
  });

  const copyOf = (t: TestContext): string => copied(t, whole);

  it('are looked for when damage is accepted, also where no start stumbles over them', async (t) => {
    const dir = copyOf(t);
    zero(dir, 'records', [0.5]);
    await new Database(join(dir, 'parley.db')).close();
    assert.equal((await accepted(dir)).length, 1);
    assert.equal((await accepted(dir)).length, 0, 'and are gone after that');
  });

  const PLACES = {
    one: [0.5],
    two: [0.2, 0.8],
    'two side by side': [0.4, 0.403],
    'the first and the last': [0, 1],
    'the last and one before': [0.3, 1],
    twenty: Array.from({ length: 20 }, (_, at) => at / 20 + 0.01),
  };
  const cases: [table: string, what: keyof typeof PLACES][] = [
    ['records', 'one'],
    ['records', 'two'],
    ['records', 'two side by side'],
    ['records', 'the first and the last'],
    ['records', 'twenty'],
    ['messages', 'two'],
    ['messages', 'the last and one before'],
    ['messages', 'twenty'],
    ['events', 'two'],
    ['events', 'the last and one before'],
    ['changes', 'two'],
    ['changes', 'the last and one before'],
  ];
  for (const [table, what] of cases) {
    it(`cost the rows in them and no others: ${what} of ${table}`, async (t) => {
      const dir = copyOf(t);
      const lost = zero(dir, table, PLACES[what]);
      const [{ missing } = { missing: '' }] = await accepted(dir);
      assert.equal(countOf(dir, table), RECORDS - lost);
      assert.match(missing, new RegExp(`the table ${table} could be read only in part`));
      if (table === 'records' || table === 'events') assert.match(missing, new RegExp(`${lost} rows are missing`));
    });
  }

  it('are found by a row that is missing from an index, where that names another one instead', async (t) => {
    const dir = copyOf(t);
    const leaves = leavesOf(dir, 'records_key');
    const { page } = leaves[3] ?? { page: 0 };
    const old = Buffer.from(pageOf(dir, page));
    const db = new Database(join(dir, 'parley.db'));
    const rows = new RecordTable(db);
    // About the middle of that page, in the order of the keys.
    const at = Math.floor((RECORDS * 3.5) / leaves.length);
    const near = String(db.sql.prepare('SELECT pk FROM records ORDER BY pk LIMIT 1 OFFSET ?').get(at)?.pk);
    const pk = `${near}-a`;
    await db.write(() => {
      const found = rows.find({ pk: near, sk: 'task' });
      if (found) rows.delete(found);
      rows.insert({ ...recordOf(1, 1), pk });
    });
    await db.close();
    assert.ok(!pageOf(dir, page).equals(old));
    putPage(dir, page, old);
    assert.equal((await accepted(dir)).length, 1);
    const again = new Database(join(dir, 'parley.db'));
    t.after(() => again.close());
    assert.ok(new RecordTable(again).find({ pk, sk: 'task' }));
    assert.equal(countOf(copied(t, dir), 'records'), RECORDS);
  });
});

describe('a WAL that lost its end', () => {
  /** Killed when SQLite has put its WAL into the file, and has not begun it anew. */
  const killed = async (t: TestContext): Promise<{ dir: string; versions: Map<string, number> }> => {
    const live = folder(t);
    const db = new Database(join(live, 'parley.db'));
    const rows = new RecordTable(db);
    const versions = new Map<string, number>();
    const write = (n: number): Promise<void> =>
      db.write(() => {
        const { pk } = recordOf(n, 1);
        const v = (versions.get(pk) ?? 0) + 1;
        const found = rows.find({ pk, sk: 'task' });
        if (found) rows.replace(found, recordOf(n, v, 9000 + v * 500));
        else rows.insert(recordOf(n, v, 9000));
        versions.set(pk, v);
      });
    let n = 0;
    for (let commits = 0; commits < 5; n++) {
      await write((n * 31) % (200 + n));
      if (!db.sql.isTransaction) commits += 1;
    }
    db.sql.exec('PRAGMA wal_checkpoint(PASSIVE)');
    for (let more = 0; more < 20; more++) await write(n + more);
    const dir = join(folder(t), 'left');
    cpSync(live, dir, { recursive: true });
    await db.close();
    return { dir, versions };
  };

  /** One bit, so far on the way through it. */
  const flip = (dir: string, place: number): void => {
    const file = join(dir, 'parley.db-wal');
    const content = readFileSync(file);
    const frames = Math.floor((content.length - 32) / (PAGE_BYTES + 24));
    const at = 32 + (PAGE_BYTES + 24) * Math.floor(frames * place) + 3000;
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.from([(content[at] ?? 0) ^ 1]), 0, 1, at);
    closeSync(descriptor);
  };

  const versionsIn = (dir: string): Map<string, number> => {
    const sql = new DatabaseSync(join(dir, 'parley.db'), { readOnly: true });
    const found = sql.prepare('SELECT pk, body FROM records').all();
    sql.close();
    return new Map(found.map(({ pk, body }) => [String(pk), JSON.parse(String(body)).v]));
  };

  for (const place of [0.97, 0.5, 0.3]) {
    it(`is refused where the file is ahead of it, and the newest of each record is taken from both: at ${place}`, async (t) => {
      const { dir, versions } = await killed(t);
      flip(dir, place);
      assert.throws(() => new Database(join(dir, 'parley.db')), {
        name: 'StorageDamage',
        message: /parley\.db-wal is damaged, \d commits behind parley\.db/,
      });
      assert.equal((await accepted(dir)).length, 1);
      assert.deepEqual(sorted(versionsIn(dir)), sorted(versions));
      assert.equal((await accepted(dir)).length, 0, 'it is whole after that');
    });
  }

  it('is none where nothing was done to it', async (t) => {
    const { dir, versions } = await killed(t);
    await new Database(join(dir, 'parley.db')).close();
    assert.deepEqual(sorted(versionsIn(dir)), sorted(versions));
  });
});

describe('a journal that cannot be run again on what SQLite holds', () => {
  it('is put together with it once damage is accepted', async (t) => {
    const live = folder(t);
    const db = new Database(join(live, 'parley.db'));
    const insert = db.prepareWrite("INSERT INTO records (pk, sk, body) VALUES (?, 'task', ?)");
    for (const pk of ['one', 'two', 'three']) await db.write(() => insert.run(pk, '{}'));
    const dir = join(folder(t), 'left');
    cpSync(live, dir, { recursive: true });
    await db.close();
    const sql = new DatabaseSync(join(dir, 'parley.db'));
    sql.exec("INSERT INTO records (pk, sk, body) VALUES ('two', 'task', '{}')");
    sql.close();
    assert.throws(() => new Database(join(copied(t, dir), 'parley.db')), /UNIQUE constraint failed/);
    const [{ missing } = { missing: '' }] = await accepted(dir);
    assert.match(missing, /the journal cannot be run again \(UNIQUE constraint failed/);
    assert.equal(countOf(dir, 'records'), 3);
    assert.ok(existsSync(join(dir, 'parley.db-log-0')));
  });
});

const sorted = (versions: Map<string, number>): [string, number][] =>
  [...versions].toSorted(([one], [other]) => (one < other ? -1 : 1));
