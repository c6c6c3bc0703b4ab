import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { is, present } from '../ports/conditions.ts';
import { advanced, type Holder } from './advance.ts';
import { deliverableOf } from './deliverable.ts';
import { endTurn } from './end-turn.ts';
import { headRef, type TurnEnd } from './head.ts';
import { mayKnow } from './look-up.ts';
import { stale } from './rules.ts';
import { canceled, stop } from './transitions.ts';
import { queuedKey, type Turn, turnRef } from './turn.ts';

/** Who no longer wants a turn, and who it says has that: of a turn of a group it may know sooner than the turn's own record. */
interface Stopper {
  caller?: Caller;
  agent?: string;
}

/** Ends a turn that is no longer wanted, whatever its worker is doing. One that nobody has leased has the epoch 0. */
export const stopTurn = async (
  deps: Deps,
  turn: Turn,
  epoch: number,
  reason?: string,
  { caller, agent = turn.agent }: Stopper = {},
): Promise<{ duplicate: boolean }> => {
  const end = canceled(deps.clock.now(), reason);
  const holder: Holder = { project: turn.project, agent, turn: turn.id, epoch };
  if (turn.isTask || epoch === 0) {
    if (agent !== turn.agent) throw stale(holder);
    return turn.isTask ? stopTask(deps, turn, epoch, end) : stopQueued(deps, turn, reason);
  }
  return advanced(
    deps,
    holder,
    stop(holder, end, (head) => caller !== undefined && mayKnow(caller, head)),
    ({ last }) => last?.turn === turn.id && last.epoch === epoch && last.errorCode === end.errorCode,
  );
};

/** Its task, which nobody may have made yet, is cancelled because the turn has ended. */
const stopTask = async (deps: Deps, turn: Turn, epoch: number, end: TurnEnd): Promise<{ duplicate: boolean }> => {
  const { id } = turn;
  if (epoch !== 0) throw stale({ turn: id, epoch });
  const done = await endTurn(deps, turn, end);
  if (done.outcome === 'written') return { duplicate: false };
  if (done.current?.end?.errorCode === end.errorCode) return { duplicate: true };
  throw stale({ turn: id, epoch });
};

/** Out of the queue and ended, in one: whoever leases it meanwhile wins, and the stop is stale. */
const stopQueued = async (deps: Deps, turn: Turn, reason?: string): Promise<{ duplicate: boolean }> => {
  const now = deps.clock.now();
  const end = canceled(now, reason);
  if (turn.end?.errorCode === end.errorCode) return { duplicate: true };
  const deliverable = await deliverableOf(deps, turn, end);
  const done = await deps.records.transact(
    [
      { kind: 'remove', key: queuedKey(turn), if: present('turn') },
      {
        kind: 'update',
        key: turnRef(turn.project, turn.id),
        change: {
          if: is('state', 'queued'),
          set: { state: 'ended', end: { ...end, deliverable }, expires: now + deps.config.turns.keepMs },
          unset: ['due'],
        },
      },
    ],
    deps.newId(),
  );
  if (done.outcome === 'written') return { duplicate: false };
  const current = await deps.records.get(turnRef(turn.project, turn.id));
  if (current?.end?.errorCode === end.errorCode) return { duplicate: true };
  throw stale({ turn: turn.id, epoch: 0 });
};

/** Ends the turn as it is, unless it has ended. */
export const stopWhatever = async (deps: Deps, project: string, id: string, reason: string): Promise<void> => {
  for (let tries = 0; tries < STOP_TRIES; tries++) {
    const turn = await deps.records.get(turnRef(project, id));
    if (!turn || turn.end) return;
    const head = turn.isForGroup ? undefined : await deps.records.get(headRef(project, turn.agent));
    const epoch = head?.turn === id ? head.epoch : 0;
    try {
      await stopTurn(deps, turn, epoch, reason);
      return;
    } catch (error) {
      if (!(error instanceof ParleyError && error.code === 'stale_turn')) throw error;
      // It ended, or its record has not heard of its lease yet.
      if (head?.last?.turn === id) return;
    }
  }
  throw new ParleyError('conflict', `The turn ${id} is just being leased. Try again.`);
};

const STOP_TRIES = 3;
