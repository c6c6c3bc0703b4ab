import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { RecordChange } from '../../shared/ports/records.ts';
import { eventually } from '../support/eventually.ts';

const ROUNDS = 8;
const WRITER = join(import.meta.dirname, 'writes-until-killed.ts');

/** A line of the killed process; each has some of these. */
interface Line {
  record?: string;
  told?: string;
  v?: number;
  message?: string;
  deleting?: string;
  deleted?: string;
  event?: string;
  blob?: string;
}

describe('a process that is killed at any moment', () => {
  it('loses nothing that it acknowledged, and tells again of the changes that nobody finished', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-crash-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const before: Line[] = [];
    let toldAgain = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const lines = await linesUntilKilled(t, dir, round, 1 + Math.floor(Math.random() * 600));
      before.push(...lines);
      toldAgain += await checkAfter(dir, before, lines);
    }
    assert.ok(toldAgain > 0, 'in no round was a change left to be told again');
  });

  it('gives the folder free for the next', async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'parley-crash-'));
    t.after(() => rmSync(dir, { recursive: true }));
    await linesUntilKilled(t, dir, 0, 10);
    const lines = await linesUntilKilled(t, dir, 1, 10);
    assert.ok(lines.length >= 10);
  });
});

/** Lets the process say so many lines, and kills it in the middle of whatever it then does. */
const linesUntilKilled = async (t: TestContext, dir: string, round: number, count: number): Promise<Line[]> => {
  const child = spawn(process.execPath, [WRITER, dir, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const lines: Line[] = [];
  const said = createInterface(child.stdout);
  said.on('line', (line) => {
    lines.push(parsed(line));
    if (lines.length === count) child.kill('SIGKILL');
  });
  await Promise.all([once(said, 'close'), once(child, 'exit')]);
  assert.equal(child.signalCode, 'SIGKILL', `it ended by itself with ${child.exitCode}`);
  return lines;
};

/** The last line may be cut off; it then said nothing. */
const parsed = (line: string): Line => {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
};

const checkAfter = async (dir: string, lines: Line[], newest: Line[]): Promise<number> => {
  const engine = openEmbeddedEngine({
    dir,
    clock: systemClock,
    log: () => {},
    newId: randomUUID,
    kinds: ['task'],
    eventRetentionMs: 86_400_000,
  });
  try {
    await checkRecords(engine.ports, lines);
    await checkMessages(engine.ports, lines);
    await checkEvents(engine.ports, lines);
    for (const { blob } of lines) {
      if (blob) assert.equal(await engine.ports.blobs.get(`p/${blob}`), blob.repeat(1000));
    }
    const told: RecordChange[] = [];
    engine.start({ onChanges: async (changes) => void told.push(...changes), onTimer: async () => {} });
    return await checkChanges(engine.ports, newest, told);
  } finally {
    await engine.stop();
  }
};

/** The last version that was acknowledged, by record. */
const acknowledged = (lines: Line[]): Map<string, number> =>
  new Map(lines.flatMap(({ record, v }) => (record && v ? [[record, v] as const] : [])));

const checkRecords = async ({ records }: Ports, lines: Line[]): Promise<void> => {
  for (const [pk, v] of acknowledged(lines)) {
    const item = await records.get({ pk, sk: 'task' });
    assert.ok((item?.v ?? 0) >= v, `${pk} is at version ${item?.v}, but ${v} was acknowledged`);
  }
};

const checkMessages = async ({ queues }: Ports, lines: Line[]): Promise<void> => {
  const lane = { project: 'p', kind: 'domain', name: 'security', priority: 'normal' } as const;
  const waiting = await queues.receive([lane], { max: 100_000, waitMs: 0, visibilityMs: 30_000 });
  const bodies = waiting.map(({ body }) => String(body));
  const deleted = new Set(lines.map(({ deleting }) => deleting));
  const lost = lines.flatMap(({ message }) => (message && !deleted.has(message) ? [message] : []));
  assert.deepEqual(
    lost.filter((message) => !bodies.includes(message)),
    [],
    'messages are lost',
  );
  const back = lines.flatMap(({ deleted: gone }) => (gone && bodies.includes(gone) ? [gone] : []));
  assert.deepEqual(back, [], 'deleted messages are back');
};

const checkEvents = async ({ events }: Ports, lines: Line[]): Promise<void> => {
  const all: ParleyEvent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await events.read('p', { after: cursor, limit: 1000 });
    if (page.events.length === 0) break;
    all.push(...page.events);
    cursor = page.cursor;
  }
  const ids = new Set(all.map(({ id }) => id));
  assert.deepEqual(
    lines.filter(({ event }) => event && !ids.has(event)),
    [],
    'events are lost',
  );
};

/** Every version up to the stored one was told before the crash or is told after it, without a gap: how many are told again. */
const checkChanges = async ({ records }: Ports, lines: Line[], told: RecordChange[]): Promise<number> => {
  let again = 0;
  for (const pk of acknowledged(lines).keys()) {
    const { v: last = 0 } = (await records.get({ pk, sk: 'task' })) ?? {};
    const before = Math.max(0, ...lines.flatMap((line) => (line.told === pk ? [line.v ?? 0] : [])));
    const after = (): number[] => told.flatMap((change) => (change.after?.pk === pk ? [change.after.v] : []));
    await eventually(() =>
      assert.ok(last === before || after().at(-1) === last, `the last change of ${pk} is not told`),
    );
    const [first = last + 1] = after();
    assert.ok(first <= before + 1, `${pk} was told up to ${before}, then from ${first} on`);
    assert.deepEqual(
      after(),
      Array.from({ length: last - first + 1 }, (_, n) => first + n),
      `${pk} is told in order`,
    );
    again += after().length;
  }
  return again;
};
