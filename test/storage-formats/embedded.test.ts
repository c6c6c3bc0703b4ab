import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { type RunningParley, startParley } from '../../local/composition.ts';
import config from '../../parley.config.ts';
import { LISTED_KINDS } from '../../shared/effects/listed-kinds.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { Database } from '../../shared/engines/embedded/database.ts';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import { FIRST_FORMAT, STORAGE_FORMAT } from '../../shared/engines/embedded/sql-schema.ts';
import { generateId } from '../../shared/kernel/ids.ts';
import { renameField } from '../../shared/ports/record-migration.ts';
import type { Item, RecordChange } from '../../shared/ports/records.ts';
import { FailingPower } from '../engines/failing-power.ts';
import { callerWith, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { TestClock } from '../support/test-clock.ts';
import { loadFixture, writeFolder } from './fixture.ts';
import { assertSameFacts, readAnswers, renewKeys, transportTo, workOff } from './story.ts';

const { keys: earlierKeys, answers, files } = loadFixture(FIRST_FORMAT).embedded;

const ADMIN_KEY = 'an-admin-key-for-tests';

const folder = (t: TestContext, content = files): string => {
  const dir = writeFolder(content);
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
};

const start = async (dir: string, { acceptDamage = false, logged = [] as object[] } = {}): Promise<RunningParley> =>
  startParley({
    dir,
    config,
    adminKey: ADMIN_KEY,
    log: (_level, message, facts) => void logged.push({ message, ...facts }),
    clock: new TestClock(),
    acceptDamage,
  });

/** All that could be read before can be read, and the task that was held can be completed. */
const assertWhole = async (dir: string): Promise<void> => {
  const parley = await start(dir);
  try {
    const transport = transportTo(parley.deps);
    const keys = await renewKeys(parley.deps, 'default', earlierKeys);
    assertSameFacts(await readAnswers(transport, keys, Object.keys(answers)), answers);
    const admin = callerWith(transport, ADMIN_KEY);
    const { tasks } = (await admin.call('GET', '/v1/tasks?limit=100')).body;
    const listed = new Set(tasks.map(({ id }: { id: string }) => id));
    const stored = Object.keys(answers).flatMap((path) => path.split('/v1/tasks/')[1] ?? []);
    assert.ok(stored.length > 0 && stored.every((id) => listed.has(id)));
    const [held] = Object.values(answers).flatMap((answer) => {
      const { id, state } = answer as Record<string, string>;
      return state === 'in_progress' && id !== undefined ? id : [];
    });
    assert.ok(held);
    const { status } = await new TestAgent('lance', keys.lance ?? '', transport).complete(held);
    assert.equal(status, 202);
  } finally {
    await parley.stop();
  }
};

const query = (dir: string, text: string): unknown => {
  const sql = new DatabaseSync(join(dir, 'parley.db'));
  try {
    return Object.values(sql.prepare(text).get() ?? {})[0];
  } finally {
    sql.close();
  }
};
const countEarlier = (dir: string): unknown =>
  query(dir, `SELECT count(*) FROM records WHERE json_extract(body, '$.cycle') IS NOT NULL`);

describe('a data folder of the first kept format', () => {
  it('is migrated at the start, once, and answers all that it answered before', async (t) => {
    const dir = folder(t);
    const logged: { message?: string }[] = [];
    await (await start(dir, { logged })).stop();
    await (await start(dir, { logged })).stop();
    const told = logged.filter(({ message }) => message === 'storage migrated');
    assert.deepEqual(told, [{ message: 'storage migrated', from: FIRST_FORMAT, to: STORAGE_FORMAT, records: 11 }]);
    assert.deepEqual([query(dir, 'PRAGMA user_version'), countEarlier(dir)], [STORAGE_FORMAT, 0]);
    await assertWhole(dir);
  });

  it('is worked off to the end: what is held, waits, has failed, and is unread', async (t) => {
    const parley = await start(folder(t));
    try {
      const keys = await renewKeys(parley.deps, 'default', earlierKeys);
      await workOff(transportTo(parley.deps), keys, answers);
    } finally {
      await parley.stop();
    }
  });

  it('is whole after a kill at every step of the migration', async (t) => {
    let kills = 0;
    for (let step = 1; ; step++) {
      const dir = folder(t);
      const script = join(import.meta.dirname, 'migrate-until-killed.ts');
      const { signal, stdout, stderr } = spawnSync(process.execPath, [script, dir, String(step)]);
      if (signal !== 'SIGKILL') {
        assert.equal(`${stdout}${stderr}`, 'storage migrated\nstopped\n');
        break;
      }
      kills += 1;
      await assertWhole(dir);
      assert.equal(countEarlier(dir), 0, `killed at step ${step}`);
    }
    assert.ok(kills >= 15, `${kills} steps`);
  });

  it('is whole after a power failure at every sync of the migration', async (t) => {
    const dir = folder(t);
    const power = new FailingPower(t, dir);
    const failures: string[] = [];
    power.beforeSync = () => {
      for (let fates = 0; fates < 9; fates++) {
        const left = folder(t, {});
        power.failInto(left);
        failures.push(left);
      }
    };
    const db = new Database(join(dir, 'parley.db'), { migrations: RECORDS, lists: LISTED_KINDS });
    power.beforeSync = () => {};
    power.release();
    await db.close();
    for (const left of failures) await assertWhole(left);
    assert.ok(failures.length >= 36, `${failures.length} failures`);
  });

  it('is migrated from what can be read of it where it is damaged', async (t) => {
    const { 'parley.db': _lost, ...journalOnly } = files;
    for (const content of [{ ...files, 'store-id': Buffer.from('1\n').toString('base64') }, journalOnly]) {
      const dir = folder(t, content);
      await assert.rejects(start(dir), { name: 'StorageDamage' });
      await (await start(dir, { acceptDamage: true })).stop();
      assert.deepEqual([query(dir, 'PRAGMA user_version'), countEarlier(dir)], [STORAGE_FORMAT, 0]);
    }
  });

  it('delivers changes that were pending or parked in the present form', async (t) => {
    const dir = folder(t, {});
    const migrations = { history: { migration: renameField('cycle', 'taskCreatedAt') } };
    const open = () =>
      openEmbeddedEngine({
        dir,
        clock: new TestClock(),
        log: () => {},
        newId: generateId,
        kinds: ['history'],
        eventRetentionMs: 1,
        migrations,
      });
    const before = open();
    const key = { pk: 'p#task#1', sk: 'history' };
    await before.ports.records.update(key, { set: { cycle: 1 } }, 'a', 'orCreate');
    await before.ports.records.update(key, { set: { cycle: 2, other: 1 } }, 'b');
    await before.ports.records.update(key, { set: { other: 2 } }, 'c');
    await before.stop();
    const sql = new DatabaseSync(join(dir, 'parley.db'));
    const parked = { after: { pk: 'p#task#2', sk: 'history', cycle: 5 } };
    sql.prepare('INSERT INTO parked_changes (change, error) VALUES (?, ?)').run(JSON.stringify(parked), 'a bug');
    sql.exec(`DROP TABLE listed; DROP TABLE event_subjects; PRAGMA user_version = ${FIRST_FORMAT}`);
    sql.close();

    const delivered: RecordChange[] = [];
    const after = open();
    after.start({ onChanges: async (changes) => void delivered.push(...changes), onTimer: async () => {} });
    await eventually(() => assert.equal(delivered.length, 4));
    await after.stop();
    const read = (item: Item | undefined) =>
      item && Object.entries(item).filter(([name]) => /cycle|task|other/.test(name));
    const seen = delivered.map((change) => [read(change.before), read(change.after)]);
    const [one, two] = [
      ['taskCreatedAt', 1],
      ['taskCreatedAt', 2],
    ];
    assert.deepEqual(
      new Set(seen.map((sides) => JSON.stringify(sides))),
      new Set(
        [
          [undefined, [['taskCreatedAt', 5]]],
          [undefined, [one]],
          [[one], [['other', 1], two]],
          [
            [['other', 1], two],
            [['other', 2], two],
          ],
        ].map((sides) => JSON.stringify(sides)),
      ),
    );
  });
});

describe('a data folder of a format that is not kept', () => {
  for (const [format, by] of [
    [FIRST_FORMAT - 1, 'an older'],
    [STORAGE_FORMAT + 1, 'a newer'],
  ] as const) {
    it(`is refused as written by ${by} version, and left as it was`, async (t) => {
      const dir = folder(t);
      await (await start(dir)).stop();
      const sql = new DatabaseSync(join(dir, 'parley.db'));
      sql.exec(`PRAGMA user_version = ${format}`);
      sql.close();
      const left = folder(t, {});
      cpSync(dir, left, { recursive: true });
      await assert.rejects(start(dir), {
        message: `was written by ${by} version of Parley (format ${format})`,
      });
      for (const name of ['parley.db', 'parley.db-log-0', 'parley.db-log-1', 'store-id'])
        assert.ok(readFileSync(join(dir, name)).equals(readFileSync(join(left, name))), name);
    });
  }
});
