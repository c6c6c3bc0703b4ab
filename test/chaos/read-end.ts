import { setTimeout as pause } from 'node:timers/promises';
import { callerWith } from '../support/api.ts';
import type { Wire } from '../support/speakers.ts';
import { check, type RuleName } from './checker.ts';
import type { Knight } from './clients/others.ts';
import type { World } from './clients/world.ts';
import { type End, type LoggedEvent, of, toTaskKey } from './history.ts';
import { UNHANDED } from './system.ts';

/** Leases, retries and deadlines end in seconds; a message that a lost answer hides is seen again after half a minute. */
const ROUND_MS = 300;
const JUMP_MS = 7000;
const ROUNDS = 100;
/** Nothing changed for so many rounds, and for so long: longer than anything waits, on a machine that is busy too. */
const HOPELESS = { rounds: 12, ms: 20_000 };
const AT_ONCE = 20;

/** What may be broken as long as something is under way. */
const UNDER_WAY: ReadonlySet<RuleName> = new Set<RuleName>([
  'nothing is lost',
  'nothing is stuck',
  'a task has one life',
  'a task has one outcome',
  'a call is one turn',
  'a step of a turn is told once',
  'a turn is delivered once',
  'a report has one effect',
  'what is acknowledged does not come again',
  'a message is read once',
  'a message is on NATS once',
  'a stream misses nothing',
  'a schedule makes one task a run',
]);

/** Until all that is to come has come; what never comes is for the checker to say. */
export const comeToRest = async (world: World, knight: Knight | undefined, streamedFrom?: number): Promise<void> => {
  let [before, same, changedAt] = ['', 0, Date.now()];
  const isHopeless = (): boolean => same >= HOPELESS.rounds && Date.now() - changedAt > HOPELESS.ms;
  for (let round = 0; round < ROUNDS && !isHopeless(); round++) {
    await pause(ROUND_MS);
    const end = await readEnd(world, knight, streamedFrom);
    const left = check({ entries: world.recorder.entries, end }).filter(({ rule }) => UNDER_WAY.has(rule));
    if (left.length === 0) return;
    const text = JSON.stringify(left);
    same = text === before ? same + 1 : 0;
    if (same === 0) changedAt = Date.now();
    before = text;
    await world.system.advance(JUMP_MS);
  }
};

export const readEnd = async (world: World, knight: Knight | undefined, streamedFrom?: number): Promise<End> => {
  const { troubles } = world.system;
  const { calmAdmin: admin } = world;
  const history = { entries: world.recorder.entries, end: {} as End };
  const tasks: End['tasks'] = {};
  const turns: End['turns'] = {};
  const asked = new Map(of(history, 'asked').flatMap(({ task, id, isAccepted }) => (isAccepted ? [[task, id]] : [])));
  await atOnce([...asked], async ([task, id]) => {
    const { status, body } = await admin.call('GET', `/v1/tasks/${encodeURIComponent(id)}`);
    if (status === 200) tasks[task] = body;
  });
  await atOnce([...new Set(of(history, 'called').map(({ turn }) => turn))], async (turn) => {
    const { status, body } = await admin.call('GET', `/v1/turns/${turn}`);
    if (status === 200) turns[turn] = body;
  });
  const inboxes: End['inboxes'] = {};
  for (const { agent, speaker } of world.readers) {
    const caller = callerWith(world.calmTransport, agent.key);
    const { body } = await caller.call('GET', '/v1/inbox?max=100');
    inboxes[agent.id] = body.messages.map((message: Wire) => speaker.idIn(message));
  }
  const onNats = knight ? await knight.received() : [];
  return { tasks, turns, events: await readEvents(world), streamedFrom, inboxes, onNats, ...sortTroubles(troubles) };
};

const sortTroubles = (all: string[]): Pick<End, 'troubles' | 'unhanded'> => {
  const { unhanded = [], troubles = [] } = Object.groupBy(all, (text) =>
    text.startsWith(UNHANDED) ? 'unhanded' : 'troubles',
  );
  return { troubles, unhanded: unhanded.map((text) => toTaskKey(/"taskId":"([^"]+)"/.exec(text)?.[1] ?? '')) };
};

const atOnce = async <T>(all: T[], each: (one: T) => Promise<void>): Promise<void> => {
  const open = all.values();
  const work = async (): Promise<void> => {
    for (const one of open) await each(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
};

const readEvents = async ({ calmAdmin: admin }: World): Promise<LoggedEvent[]> => {
  const events = new Map<string, LoggedEvent>();
  for (let after = ''; ; ) {
    const { body } = await admin.call('GET', `/v1/events?limit=500${after && `&after=${encodeURIComponent(after)}`}`);
    for (const event of body.events) if (!events.has(event.id)) events.set(event.id, event);
    if (body.cursor === after) return [...events.values()];
    after = body.cursor;
  }
};
