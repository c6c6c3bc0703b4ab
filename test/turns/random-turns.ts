import assert from 'node:assert/strict';
import fc from 'fast-check';
import { putCard } from '../../shared/cards/put-card.ts';
import { registerAgent } from '../../shared/registration/register-agent.ts';
import { CALLS, Life, type Move, type Scene, type World } from './agent-life.ts';

const which = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) });
const astray = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(1, -1, 2, -2) },
);
const leaseId = fc.constantFrom(undefined, 'worker-1', 'worker-2');
const call = fc.nat(CALLS.length - 1);
const calls = fc.uniqueArray(call, { minLength: 1, maxLength: 3 });
const name = fc.nat(2);
const terminate = fc.nat(3).map((chance) => chance === 3);
const one = <D extends string>(what: D) => ({ do: fc.constant(what) });
const pick = fc.nat(11);
const rank = fc.nat(9);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 40, arbitrary: fc.record({ ...one('likely'), pick, rank }) },
  { weight: 2, arbitrary: fc.record(one('watch')) },
  { weight: 3, arbitrary: fc.record({ ...one('enqueue'), rank }) },
  { weight: 8, arbitrary: fc.record({ ...one('lease'), leaseId }) },
  { weight: 6, arbitrary: fc.record({ ...one('start'), which, astray }) },
  { weight: 3, arbitrary: fc.record({ ...one('step'), which, astray, name }) },
  { weight: 6, arbitrary: fc.record({ ...one('suspend'), which, astray, calls }) },
  { weight: 8, arbitrary: fc.record({ ...one('report'), which, astray, call, terminate }) },
  { weight: 2, arbitrary: fc.record({ ...one('deliver'), which, astray, name }) },
  { weight: 3, arbitrary: fc.record({ ...one('stop'), which, astray }) },
  { weight: 1, arbitrary: fc.record({ ...one('enqueueAgain'), which }) },
  { weight: 2, arbitrary: fc.record({ ...one('stopQueued'), which }) },
);
/** Around what a worker that was leased to, one that runs, and a tool may take. */
const ms = fc.constantFrom(1, 9_999, 29_000, 31_000, 290_000, 310_000, 1_000_000);
const moves = fc.array(move, { minLength: 1, maxLength: 3 });
const scene: fc.Arbitrary<Scene> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ moves }) },
  { weight: 3, arbitrary: fc.record({ ms, moves }) },
  { weight: 1, arbitrary: fc.record({ ms }) },
);

export const lives = (longest: number): fc.Arbitrary<Scene[]> =>
  fc.array(scene, { minLength: longest / 3, maxLength: longest });

/** What fails is looked for in fewer moves, but not for longer than this. */
const SHRINK_MS = 30_000;

/** A life after life until one fails, and then shorter ones for a while; whoever is asked later has lived well. */
export const shrunk = <A extends unknown[]>(run: (...args: A) => Promise<void>) => {
  let until = Infinity;
  return async (...args: A): Promise<void> => {
    if (Date.now() > until) return;
    await run(...args).catch((error: unknown) => {
      until = Math.min(until, Date.now() + SHRINK_MS);
      throw error;
    });
  };
};

const TYPES = ['evt.agent.task', 'evt.agent.state', 'evt.agent.step'];

/** One life of one agent, from its registration until nothing is left of what it was asked; gives the number of its turns. */
export const live = async (world: World, id: string, scenes: Scene[], schedule: fc.Scheduler): Promise<number> => {
  const { deps, project } = world;
  const before = await deps.events.getEnd(project);
  await registerAgent(deps, project, id, { dialect: 'common-ground', capabilities: [], transport: 'http' });
  const known = await deps.directory.getAgent(project, id);
  assert.ok(known);
  const card = await putCard(deps, project, id, 'tool.result', { status: 'partial', result: null });
  const life = new Life(world, known, card.id, schedule);
  for (const one of scenes) await life.play(one);
  await life.drain();
  await life.check(async () => {
    const { events } = await deps.events.read(project, { types: TYPES, after: before, limit: 1000 });
    // The same event may be told twice, also of an earlier life, but never two of one change.
    const once = new Map(events.map(({ id: event, type, data }) => [event, textOf(type, Object(data.payload))]));
    return [...once.values()].filter((text) => text.includes(`-${id}-`)).toSorted();
  });
  return life.turns;
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const textOf = (type: string, { agent_turn_id: turn, status, turn_epoch, step_id }: any): string => {
  if (type === 'evt.agent.state') return `state ${turn} ${status} ${turn_epoch}`;
  return type === 'evt.agent.step' ? `step ${turn} ${step_id}` : `task ${turn} ${status}`;
};
