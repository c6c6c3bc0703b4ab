import type { Deps } from '../deps.ts';
import { is } from '../ports/conditions.ts';
import { idleAmong } from './bells.ts';
import { toolResultOf } from './deliverable.ts';
import { type Head, headRef, stateOf } from './head.ts';
import { stopTurn } from './stop.ts';
import { overdue, pass } from './time.ts';
import { type Turn, turnRef } from './turn.ts';

/** What time alone does to a head: bells again, timeout reports, reaping. */
export const onHeadDue = async (deps: Deps, head: Head): Promise<void> => {
  const { project, agent } = head;
  const now = deps.clock.now();
  const late = overdue(head, now);
  const cards = await Promise.all(
    late.map((toolCall) =>
      toolResultOf(deps, project, toolCall, 'timeout', { error: 'The tool did not report in time.' }),
    ),
  );
  const byCall = new Map(late.map((toolCall, at) => [toolCall, cards[at] ?? '']));
  const change = pass(head, { now, limits: deps.config.turns }, byCall);
  await deps.records.update(headRef(project, agent), change, deps.newId());
};

const LONGEST_BELL_MS = 5 * 60_000;

/** A turn that nobody leased, though its agent is free: the bell may have been lost. It is rung ever more rarely. */
export const onTurnDue = async (deps: Deps, turn: Turn): Promise<void> => {
  const ref = turnRef(turn.project, turn.id);
  const isUnmoved = is('v', turn.v);
  if (turn.state !== 'queued') {
    await deps.records.update(ref, { if: isUnmoved, unset: ['due'] }, deps.newId());
    return;
  }
  if (deps.clock.now() - turn.createdAt >= deps.config.turns.keepMs) {
    await stopTurn(deps, turn, 0, 'Nobody leased the turn for too long.');
    return;
  }
  const pauseMs = Math.min(deps.config.turns.bellMs * 2 ** (turn.rung + 1), LONGEST_BELL_MS);
  const set = { due: deps.clock.now() + pauseMs };
  const isFree = await canBeTaken(deps, turn);
  await deps.records.update(ref, { if: isUnmoved, set, ...(isFree && { add: { rung: 1 } }) }, deps.newId());
};

/** Whether there is anybody to ring for. */
const canBeTaken = async (deps: Deps, { project, agent, isForGroup, channel }: Turn): Promise<boolean> =>
  isForGroup
    ? (await idleAmong(deps, project, agent, channel)).length > 0
    : stateOf(await deps.records.get(headRef(project, agent))) === 'idle';
