import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { StorageDamageError } from '../../shared/engines/embedded/inspect-storage.ts';
import { decodeRuns } from '../../shared/engines/embedded/journal.ts';
import { readJournalFile } from '../../shared/engines/embedded/journal-file.ts';
import type { SalvageReport } from '../../shared/engines/embedded/salvage-storage.ts';
import { eventually } from '../support/eventually.ts';
import { countIn, folder, Numbered } from './numbered-rows.ts';

const LOGS = ['parley.db-log-0', 'parley.db-log-1'];

/** What a process leaves that is killed after so many acknowledged writes, once its journal has been told that they are on the disk. */
const killedAfter = async (dir: string, left: string, writes: number): Promise<void> => {
  const rows = new Numbered(dir);
  for (let write = 1; write <= writes; write++) await rows.write();
  await eventually(() => {
    const [newest] = journalsOf(dir).toSorted((a, b) => b.part - a.part);
    assert.equal(newest?.marked, newest?.end);
  });
  cpSync(dir, left, { recursive: true });
  await rows.db.close();
};

/** The last part that each file holds, where it ends, and up to where it is marked. */
const journalsOf = (dir: string) =>
  LOGS.map((name) => {
    const { entries, mark } = readJournalFile(join(dir, name));
    const part = Math.max(0, ...entries.map((entry) => entry.part));
    const own = entries.filter((entry) => entry.part === part);
    return { name, part, entries: own, end: own.at(-1)?.endOffset ?? 0, marked: mark?.part === part ? mark.synced : 0 };
  });

const newestLog = (dir: string) => {
  const [newest] = journalsOf(dir).toSorted((a, b) => b.part - a.part);
  assert.ok(newest && newest.entries.length > 3);
  return newest;
};

const overwrite = (file: string, at: number, bytes: Buffer): void => {
  const content = readFileSync(file);
  bytes.copy(content, at);
  writeFileSync(file, content);
};

interface Damage {
  what: string;
  /** To a folder, beside that of another store. */
  inflict: (dir: string, other: string) => void;
  says: RegExp;
}

const inMiddle = (dir: string): { file: string; at: number } => {
  const { name, entries } = newestLog(dir);
  return { file: join(dir, name), at: (entries[1]?.offset ?? 0) + 5000 };
};

const take = (dir: string, other: string, names: string[]): void => {
  for (const name of names) cpSync(join(other, name), join(dir, name));
};

const otherLog = (name: string): string => LOGS.find((log) => log !== name) ?? '';

const exchangeLogs = (dir: string): void => {
  const [zero = '', one = ''] = LOGS.map((name) => join(dir, name));
  renameSync(zero, `${zero}-away`);
  renameSync(one, zero);
  renameSync(`${zero}-away`, one);
};

const DAMAGES: Damage[] = [
  {
    what: 'one bit within the journal',
    inflict: (dir) => {
      const { file, at } = inMiddle(dir);
      overwrite(file, at, Buffer.from([0x20]));
    },
    says: /parley\.db-log-\d is damaged from byte \d+ to \d+ \(1 groups\); [1-9]\d* whole groups/,
  },
  {
    what: '512 bytes within the journal',
    inflict: (dir) => {
      const { file, at } = inMiddle(dir);
      overwrite(file, at, Buffer.alloc(512, 0xa5));
    },
    says: /parley\.db-log-\d is damaged from byte/,
  },
  {
    what: 'the first entry of the journal',
    inflict: (dir) => overwrite(join(dir, newestLog(dir).name), 4096, Buffer.alloc(4096)),
    says: /parley\.db-log-\d is damaged from byte 4096 to \d+ \(1 groups\)/,
  },
  {
    what: 'all entries of the journal, zeroed',
    inflict: (dir) => overwrite(join(dir, newestLog(dir).name), 4096, Buffer.alloc(newestLog(dir).end - 4096)),
    says: /parley\.db-log-\d is damaged from byte 4096 to its end; 0 whole groups/,
  },
  {
    what: 'a journal file that is cut',
    inflict: (dir) => truncateSync(join(dir, newestLog(dir).name), newestLog(dir).entries[2]?.endOffset),
    says: /parley\.db-log-\d is cut to \d+ of \d+ bytes/,
  },
  ...LOGS.flatMap((name): Damage[] => [
    { what: `${name} deleted`, inflict: (dir) => rmSync(join(dir, name)), says: /parley\.db-log-\d is missing/ },
    { what: `${name} emptied`, inflict: (dir) => truncateSync(join(dir, name), 0), says: /parley\.db-log-\d is empty/ },
    {
      what: `${name} zeroed`,
      inflict: (dir) => writeFileSync(join(dir, name), Buffer.alloc(statSync(join(dir, name)).size)),
      says: /parley\.db-log-\d is unreadable/,
    },
    {
      what: `${name} of another folder`,
      inflict: (dir, other) => take(dir, other, [name]),
      says: /parley\.db-log-\d is the journal of another folder/,
    },
  ]),
  {
    what: 'the two journal files exchanged',
    inflict: (dir) => exchangeLogs(dir),
    says: /parley\.db-log-0 holds parts of parley\.db-log-1; parley\.db-log-1 holds parts of parley\.db-log-0/,
  },
  {
    what: 'a journal file in the place of the other too',
    inflict: (dir) => cpSync(join(dir, newestLog(dir).name), join(dir, otherLog(newestLog(dir).name))),
    says: /parley\.db-log-\d holds parts of parley\.db-log-\d/,
  },
  {
    what: 'the WAL deleted',
    inflict: (dir) => rmSync(join(dir, 'parley.db-wal')),
    says: /parley\.db is \d commits behind its journal/,
  },
  {
    what: 'the WAL cut',
    inflict: (dir) => truncateSync(join(dir, 'parley.db-wal'), 20_000),
    says: /parley\.db is \d commits behind its journal/,
  },
  {
    what: 'one bit of the WAL',
    inflict: (dir) => overwrite(join(dir, 'parley.db-wal'), 5000, Buffer.from('flipped')),
    says: /parley\.db is \d commits behind its journal/,
  },
  {
    what: 'the WAL of another folder',
    inflict: (dir, other) => take(dir, other, ['parley.db-wal']),
    says: /parley\.db-wal is the WAL of another folder/,
  },
  {
    what: 'the database deleted',
    inflict: (dir) => rmSync(join(dir, 'parley.db')),
    says: /parley\.db is missing beside .*journal/,
  },
  {
    what: 'the database and everything of its name deleted',
    inflict: (dir) => {
      for (const name of readdirSync(dir)) if (name.startsWith('parley.db')) rmSync(join(dir, name));
    },
    says: /parley\.db is missing beside store-id/,
  },
  {
    what: 'the database emptied',
    inflict: (dir) => truncateSync(join(dir, 'parley.db'), 0),
    says: /parley\.db is empty beside .*journal/,
  },
  {
    what: 'the database zeroed',
    inflict: (dir) => writeFileSync(join(dir, 'parley.db'), Buffer.alloc(statSync(join(dir, 'parley.db')).size)),
    says: /parley\.db is unreadable/,
  },
  {
    what: 'the database of another folder',
    inflict: (dir, other) => take(dir, other, ['parley.db']),
    says: /of another folder/,
  },
  {
    what: 'the database and WAL of another folder',
    inflict: (dir, other) => take(dir, other, ['parley.db', 'parley.db-wal']),
    says: /parley\.db is the database of another folder/,
  },
  {
    what: 'the database, WAL and journal of another folder',
    inflict: (dir, other) => take(dir, other, ['parley.db', 'parley.db-wal', ...LOGS]),
    says: /parley\.db is the database of another folder/,
  },
];

describe('a storage that is damaged', () => {
  const WRITES = 110;
  const cleanUps: (() => unknown)[] = [];
  let whole: string;
  let other: string;

  before(async () => {
    const owner = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) };
    [whole, other] = [join(folder(owner), 'left'), join(folder(owner), 'left')];
    await killedAfter(folder(owner), whole, WRITES);
    await killedAfter(folder(owner), other, WRITES);
  });

  after(() => {
    for (const cleanUp of cleanUps) cleanUp();
  });

  const copyOf = (t: TestContext): string => {
    const dir = join(folder(t), 'copy');
    cpSync(whole, dir, { recursive: true });
    return dir;
  };

  it('is none where nothing was done to it', async (t) => {
    assert.equal(await countIn(copyOf(t)), WRITES);
  });

  for (const { what, inflict, says } of DAMAGES) {
    it(`is refused as it is, and goes on once that is accepted: ${what}`, async (t) => {
      const dir = copyOf(t);
      inflict(dir, other);
      const files = contentsOf(dir);
      assert.throws(() => new Numbered(dir), { name: 'StorageDamage', message: says });
      assert.deepEqual(contentsOf(dir), files, 'a refusal changes nothing');

      const told: SalvageReport[] = [];
      const rows = new Numbered(dir, { acceptDamage: (salvaged) => told.push(salvaged) });
      const [{ aside, missing } = { aside: '', missing: '' }] = told;
      assert.match(missing, says);
      const kept = contentsOf(aside);
      for (const [name, content] of files) assert.ok(kept.get(name)?.equals(content), `${name} is not kept aside`);
      await rows.db.close();

      const again = new Numbered(dir);
      t.after(() => again.db.close());
      const left = again.db.sql.prepare('SELECT count(*) AS count FROM records').get()?.count;
      t.diagnostic(`${left} of ${WRITES} writes are left`);
    });
  }

  it('keeps what stands whole behind a damaged entry', async (t) => {
    const dir = copyOf(t);
    const { file, at } = inMiddle(dir);
    overwrite(file, at, Buffer.alloc(512, 0xa5));
    const { db } = new Numbered(dir, { acceptDamage: () => {} });
    t.after(() => db.close());
    const lost = (newestLog(whole).entries.length ?? 0) > 0 ? 1 : 0;
    assert.equal(db.sql.prepare('SELECT count(*) AS count FROM records').get()?.count, WRITES - lost);
  });

  it('loses nothing where only its two journal files were exchanged', async (t) => {
    const dir = copyOf(t);
    exchangeLogs(dir);
    await new Numbered(dir, { acceptDamage: () => {} }).db.close();
    assert.equal(await countIn(dir), WRITES);
  });

  for (const names of [['parley.db'], ['parley.db', 'parley.db-wal']]) {
    it(`takes its own groups of writes, and nothing of a stranger: ${names.join(' and ')} of another folder`, (t) => {
      const dir = copyOf(t);
      take(dir, other, names);
      const { db } = new Numbered(dir, { acceptDamage: () => {} });
      t.after(() => db.close());
      const own = LOGS.flatMap((name) => readJournalFile(join(whole, name)).entries.flatMap(decodeRuns));
      assert.deepEqual(
        db.sql
          .prepare('SELECT pk FROM records')
          .all()
          .map(({ pk }) => pk)
          .toSorted(),
        own.map(([, pk]) => pk).toSorted(),
      );
    });
  }

  it('is never used silently, wherever a file of it is flipped, zeroed, cut or lost', async (t) => {
    let seed = 20_261_118;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    let refused = 0;
    for (let round = 0; round < 60; round++) {
      const dir = copyOf(t);
      const name = ['parley.db-wal', ...LOGS][random(3)] ?? '';
      const file = join(dir, name);
      const { size } = statSync(file);
      const at = random(size);
      const kind = ['flip', 'zero', 'cut'][random(3)];
      if (kind === 'flip') overwrite(file, at, Buffer.from([(readFileSync(file)[at] ?? 0) ^ (1 << random(8))]));
      if (kind === 'zero') overwrite(file, at, Buffer.alloc(Math.min(4096, size - at)));
      if (kind === 'cut') truncateSync(file, at);
      try {
        assert.equal(await countIn(dir), WRITES, `${kind} at ${at} of ${name}`);
      } catch (error) {
        if (!(error instanceof StorageDamageError)) throw error;
        refused += 1;
      }
      rmSync(dir, { recursive: true });
    }
    t.diagnostic(`${refused} of 60 were refused, in the others nothing was lost`);
    assert.ok(refused > 15);
  });
});

const contentsOf = (dir: string): Map<string, Buffer> =>
  new Map(
    readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('-shm') && existsSync(join(dir, entry.name)))
      .map(({ name }) => [name, readFileSync(join(dir, name))]),
  );
