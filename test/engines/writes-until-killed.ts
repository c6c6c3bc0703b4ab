import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { openEmbeddedEngine } from '../../shared/engines/embedded/embedded-engine.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import type { Item } from '../../shared/ports/records.ts';

/**
 * The process that crash.test.ts kills: `node writes-until-killed.ts <folder> <round>`. It says what was acknowledged, one
 * line each, only once its promise has resolved, and waits until the pipe has taken it, so that none is lost with the process.
 */
const [dir = '', round = ''] = process.argv.slice(2);

const say = (line: object): number => writeSync(1, `${JSON.stringify(line)}\n`);

const engine = openEmbeddedEngine({
  dir,
  clock: systemClock,
  log: () => {},
  newId: randomUUID,
  kinds: ['task'],
  eventRetentionMs: 86_400_000,
});
const { records, queues, events, blobs } = engine.ports;

engine.start({
  onChanges: async (changes) => {
    await pause(Math.random() * 20);
    for (const { after } of changes) say({ told: after?.pk, v: after?.v });
  },
  onTimer: async () => {},
});

const lane = { project: 'p', kind: 'domain', name: 'security', priority: 'normal' } as const;

const write = async (writer: number): Promise<never> => {
  const pk = `p#task#${round}-${writer}`;
  await records.create<Item>({ pk, sk: 'task' }, randomUUID());
  say({ record: pk, v: 1 });
  for (let n = 2; ; n++) {
    const written = await records.update({ pk, sk: 'task' }, { add: { n: 1 } }, randomUUID());
    if (written.outcome === 'written') say({ record: pk, v: written.after.v });
    const name = `${round}-${writer}-${n}`;
    await queues.send([{ queueKey: lane, group: name, dedupId: name, at: n, body: name }]);
    say({ message: name });
    if (n % 3 === 0) await takeOne();
    await events.publish([{ id: name, project: 'p', type: 'task.completed', at: n, data: {} }]);
    say({ event: name });
    if (n % 5 !== 0) continue;
    await blobs.put(`p/${name}`, name.repeat(1000));
    say({ blob: name });
  }
};

const takeOne = async (): Promise<void> => {
  const received = await queues.receive([lane], { max: 1, waitMs: 0, visibilityMs: 30_000 });
  for (const { body } of received) say({ deleting: body });
  await queues.delete(received);
  for (const { body } of received) say({ deleted: body });
};

await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
