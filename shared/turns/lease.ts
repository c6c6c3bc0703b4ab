import type { Known } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../json/json.ts';
import { present } from '../ports/conditions.ts';
import type { Item, Listener, Write } from '../ports/records.ts';
import { unseen } from '../tasks/rules.ts';
import { groupQueuesOf, queuedForGroups } from './group-queues.ts';
import { type Active, type Head, headRef, headWrite, isHead, stateOf, turnsPk } from './head.ts';
import { leaseTask } from './lease-task.ts';
import { leased, resume, type When } from './transitions.ts';
import { isQueued, type QueuedTurn, type Turn, turnRef } from './turn.ts';
import { inboxRow, reportRows } from './turn-view.ts';

export interface Lease {
  agent_turn_id: string;
  turn_epoch: number;
  inbox: JsonObject[];
}

export interface LeaseOptions {
  waitMs: number;
  signal?: AbortSignal;
  /** Client-made: the same lease again brings the same turn. */
  leaseId?: string;
}

/** The agent's next turn, or the one that can go on; undefined if there is none in time. */
export const lease = async (deps: Deps, known: Known, options: LeaseOptions): Promise<Lease | undefined> => {
  const { agent } = known;
  if (!dialectNamed(agent.dialect).takesTurns) {
    throw new ParleyError(
      'not_eligible',
      `The agent ${agent.id} speaks ${agent.dialect}, and so gets tasks (POST /v1/claims), not turns.`,
    );
  }
  const until = deps.clock.now() + options.waitMs;
  const queues = [agent.id, ...groupQueuesOf(agent)];
  const listeners = options.waitMs > 0 ? queues.map((name) => deps.records.listen(turnsPk(agent.project, name))) : [];
  try {
    for (;;) {
      const found = await leaseOnce(deps, known, options.leaseId);
      const left = Math.max(0, until - deps.clock.now());
      const isOver = left === 0 || options.signal?.aborted === true;
      if (typeof found === 'object' || (found === 'busy' && isOver))
        return typeof found === 'object' ? found : undefined;
      const task = await heardOrClaimed(deps, known, listeners, found === 'busy', { ...options, waitMs: left });
      if (task || isOver) return task;
    }
  } finally {
    for (const listener of listeners) listener.close();
  }
};

/** Waits for a turn and, unless the agent has one in hand, for a task: whichever comes first ends the other wait. */
const heardOrClaimed = async (
  deps: Deps,
  known: Known,
  listeners: Listener[],
  isBusy: boolean,
  { waitMs, signal, leaseId }: LeaseOptions,
): Promise<Lease | undefined> => {
  const over = new AbortController();
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  const heard = listeners.length > 0 ? Promise.race(listeners.map((one) => one.heard(waitMs, either))) : undefined;
  const claimed = isBusy
    ? undefined
    : leaseTask(deps, known, { waitMs, signal: waitMs > 0 ? either : undefined, leaseId });
  try {
    if (claimed && heard) await Promise.race([claimed, heard]);
    else await heard;
  } finally {
    over.abort();
  }
  return claimed;
};

/** Another worker of the same agent may be faster; whoever loses looks again. */
const TRIES = 3;

const leaseOnce = async (
  deps: Deps,
  known: Known,
  leaseId: string | undefined,
): Promise<Lease | 'busy' | undefined> => {
  const { project, id } = known.agent;
  for (let tries = 0; tries < TRIES; tries++) {
    // The head comes first, and then the oldest of what is queued.
    const found = await deps.records.query<Item>({ p: turnsPk(project, id), limit: 2 });
    const head = found.find(isHead);
    const taken =
      head && head.state !== 'idle'
        ? await takenUp(deps, head, leaseId)
        : await dispatch(deps, known, head, found.find(isQueued), leaseId);
    if (taken !== 'lost') return taken;
  }
  return undefined;
};

const when = (deps: Deps): When => ({ now: deps.clock.now(), limits: deps.config.turns });

const dispatch = async (
  deps: Deps,
  { agent }: Known,
  head: Head | undefined,
  own: QueuedTurn | undefined,
  leaseId: string | undefined,
): Promise<Lease | 'lost' | undefined> => {
  const queued = own ?? (await queuedForGroups(deps, agent));
  if (!queued) return undefined;
  const { project, id } = agent;
  const { pk, sk, turn } = queued;
  const epoch = (head?.epoch ?? 0) + 1;
  const change = leased(epoch, turn, activeOf(queued), leaseId, when(deps));
  const writes: Write[] = [headWrite(headRef(project, id), head, { project, agent: id }, change.set ?? {})];
  writes.push({ kind: 'remove', key: { pk, sk }, if: present('turn') });
  const done = await deps.records.transact(writes, deps.newId());
  return done.outcome === 'written' ? { agent_turn_id: turn, turn_epoch: epoch, inbox: [inboxRow(queued)] } : 'lost';
};

const activeOf = (queued: QueuedTurn): Active => {
  const { correlation, depth, channel, from, createdAt, traceparent, tracestate, callers } = queued;
  return { correlation, depth, channel, from, createdAt, traceparent, tracestate, callers };
};

/** A turn that waits for no tool any more goes on with whoever asks first; one that was leased already, with whoever leased it. */
const takenUp = async (deps: Deps, head: Head, leaseId: string | undefined): Promise<Lease | 'busy' | 'lost'> => {
  const { project, agent, turn, epoch } = head;
  if (turn === undefined) return 'busy';
  const isMine = leaseId !== undefined && head.leaseId === leaseId;
  if (head.state === 'suspended' && stateOf(head) === 'running') {
    const change = unseen(resume({ turn, epoch }, leaseId, when(deps)));
    const done = await deps.records.update(headRef(project, agent), change, deps.newId());
    return done.outcome === 'written' ? resumed(head, turn) : 'lost';
  }
  if (!isMine || head.state === 'suspended') return 'busy';
  return Object.keys(head.reports ?? {}).length > 0 ? resumed(head, turn) : leasedBefore(deps, head, turn);
};

const resumed = (head: Head, turn: string): Lease => ({
  agent_turn_id: turn,
  turn_epoch: head.epoch,
  inbox: reportRows(head, turn),
});

const leasedBefore = async (deps: Deps, { project, epoch }: Head, id: string): Promise<Lease | 'busy'> => {
  const turn = await deps.records.get<Turn>(turnRef(project, id));
  return turn ? { agent_turn_id: id, turn_epoch: epoch, inbox: [inboxRow(turn)] } : 'busy';
};
