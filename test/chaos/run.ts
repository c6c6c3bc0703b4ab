import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../support/hostile-ports.ts';
import { atEndOf, type Owner } from '../support/server-process.ts';
import { startAwsSystem } from './aws-side.ts';
import { check, type Violation } from './checker.ts';
import { endSchedule, Knight, readSlowly, startSchedule, writeNotes } from './clients/others.ts';
import { CAPABILITY, DIALECTS, Requester, readInbox } from './clients/requester.ts';
import { callTurns, TurnWorker } from './clients/turns.ts';
import { Worker } from './clients/worker.ts';
import { World } from './clients/world.ts';
import { startEmbeddedSystem } from './embedded-side.ts';
import { makeTrouble } from './faults.ts';
import type { History } from './history.ts';
import type { ChaosOptions } from './options.ts';
import { comeToRest, readEnd } from './read-end.ts';

export interface Outcome {
  violations: Violation[];
  history: History;
  /** What it was tried on. */
  counts: Record<string, number>;
}

const REQUESTS_A_SECOND = { embedded: 3, aws: 3 };
const PROCESSES = 2;
/** On AWS every wait is a loop of calls: fewer wait there. */
const SPEAKING = {
  embedded: DIALECTS.map(({ dialect }) => dialect),
  aws: ['native', 'round-table', 'message-routing'],
};
const WAIT_SECONDS = { embedded: 0.3, aws: 1 };
const TURNING = { embedded: ['merlin', 'morgan'], aws: ['merlin'] };

const NATIVE = DIALECTS.find(({ dialect }) => dialect === 'native');

/** One run on one engine: load with faults, then rest, then a look at everything. */
export const runChaos = async (
  owner: Owner,
  engine: 'embedded' | 'aws',
  { seed, seconds, faults }: Omit<ChaosOptions, 'engines'>,
): Promise<Outcome> => {
  const random = seeded(seed);
  const speaking = DIALECTS.filter(({ dialect }) => SPEAKING[engine].includes(dialect));
  const turning = TURNING[engine];
  const { system, nats } =
    engine === 'aws'
      ? { system: await startAwsSystem(owner, { seed, faults }, seeded(seed + 1)), nats: undefined }
      : await startEmbeddedSystem(owner, { seed, faults });
  const world = new World(system, seed, faults, WAIT_SECONDS[engine]);
  const loaded = new AbortController();
  // Whatever ends this, nobody goes on without a system.
  atEndOf(owner, () => {
    world.isOver = true;
    world.isGone = true;
    loaded.abort();
  });
  const running: Promise<unknown>[] = [];
  const failures: unknown[] = [];
  const run = (work: Promise<unknown>): void => {
    running.push(work.catch((error) => failures.push(error)));
  };
  // Who asks in one dialect works in another.
  const workers: string[] = [];
  for (const speaker of speaking) {
    const id = `works-${speaker.dialect}`;
    const agent = await world.register(id, { dialect: speaker.dialect, capabilities: [CAPABILITY], inbox: 'ends' });
    workers.push(id);
    const processes = speaker === NATIVE ? PROCESSES : 1;
    for (let number = 0; number < processes; number++) run(new Worker(world, agent, speaker, number).work());
  }
  const requesters: Requester[] = [];
  for (const speaker of speaking) {
    const id = `asks-${speaker.dialect}`;
    const agent = await world.register(id, { dialect: speaker.dialect, capabilities: [], inbox: 'ends' });
    const requester = new Requester(world, agent, speaker, workers);
    requesters.push(requester);
    run(requester.read());
  }
  for (const id of turning) {
    await world.register(id, { dialect: 'common-ground', capabilities: [] });
    for (let number = 0; number < PROCESSES; number++) run(new TurnWorker(world, id, number).work());
  }
  const scribe = await world.register('scribe', { dialect: 'native', capabilities: [] });
  const author = await world.register('author', { dialect: 'native', capabilities: [] });
  if (!NATIVE) throw new Error('there is no native dialect');
  run(readInbox(world, scribe, NATIVE));
  const clockwork = await startSchedule(world);
  const knight = nats && (await Knight.connect(world, nats.server.url));
  const streamedFrom = faults.includes('readers') ? await countEvents(world) : undefined;
  if (streamedFrom !== undefined) run(readSlowly(world));

  const troubled = makeTrouble(system, nats, faults, random, loaded.signal);
  const rounds = Math.max(1, Math.round(seconds * REQUESTS_A_SECOND[engine]));
  const load = [
    ...requesters.map(async (requester) => {
      for (let left = rounds; left > 0; left--) {
        await requester.ask();
        await pause((random() * 1000) / REQUESTS_A_SECOND[engine]);
      }
    }),
    ...turning.map((id) => callTurns(world, id, rounds)),
    writeNotes(world, author, [{ to: 'scribe' }, ...(knight ? [{ to: 'squire', onNats: true as const }] : [])], rounds),
    ...(knight ? [knight.ask(rounds)] : []),
  ];
  const allLoaded = Promise.all(load);
  // What hangs shows as stuck.
  await Promise.race([Promise.all([allLoaded, pause(seconds * 1000)]), pause(seconds * 3000 + 20_000)]).catch((error) =>
    failures.push(error),
  );
  loaded.abort();
  const made = await troubled;
  await system.calm();
  world.isCalm = true;
  await endSchedule(world, clockwork);
  await comeToRest(world, knight, streamedFrom);
  world.isOver = true;
  await Promise.race([Promise.all([...running, allLoaded.catch(() => {})]), pause(5000)]);
  const end = await readEnd(world, knight, streamedFrom);
  await knight?.close();
  end.troubles.push(
    ...failures.map((failure) => `a client failed: ${failure instanceof Error ? failure.stack : failure}`),
  );
  const history = { entries: world.recorder.entries, end };
  return { violations: check(history), history, counts: { ...countEntries(history), ...made } };
};

const countEvents = async ({ system }: World): Promise<number> =>
  (await system.admin.call('GET', '/v1/events?limit=500')).body.events.length;

const countEntries = ({
  entries,
  end,
}: {
  entries: { kind: string }[];
  end: { events: unknown[] };
}): Record<string, number> => ({
  ...Object.fromEntries([...Map.groupBy(entries, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length])),
  events: end.events.length,
});
