import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { LISTED_KINDS } from '../../shared/effects/listed-kinds.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { RecordMigrations } from '../../shared/ports/record-migration.ts';

/** Opens a folder, and kills itself before its n-th step: `node migrate-until-killed.ts <folder> <n>`. */
const [dir = '', steps = ''] = process.argv.slice(2);
let left = Number(steps);
const step = (): void => {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
};

const { fdatasyncSync } = fs;
fs.fdatasyncSync = (descriptor) => {
  step();
  fdatasyncSync(descriptor);
};
syncBuiltinESMExports();

const { migration } = RECORDS.history;
if (!migration) throw new Error('there is nothing to migrate');
const migrations: RecordMigrations = {
  history: {
    migration: {
      ...migration,
      upgrade: (record) => {
        step();
        return migration.upgrade(record);
      },
    },
  },
};
const log = (_level: string, message: string): void => {
  step();
  process.stdout.write(`${message}\n`);
};
const lists = LISTED_KINDS;
const options = { dir, clock: systemClock, log, newId: () => 'id', kinds: [], eventRetentionMs: 1, migrations, lists };
await openEmbeddedEngine(options).stop();
process.stdout.write('stopped\n');
