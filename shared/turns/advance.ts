import type { Deps } from '../deps.ts';
import type { JsonObject } from '../json/json.ts';
import { refuseTooLarge } from '../json/size.ts';
import { perform } from '../perform.ts';
import { any, type Condition, isNot } from '../ports/conditions.ts';
import { onSeen, type Transition, unseen } from '../tasks/rules.ts';
import { type Ending, type Head, headRef, ownIn } from './head.ts';
import { type Gate, isGated, stale } from './rules.ts';
import { type Awaited, deliver, start, step, suspend, type When } from './transitions.ts';

/** Whose turn, and which: what every call about a turn says. */
export interface Holder extends Gate {
  project: string;
  agent: string;
}

const when = (deps: Deps): When => ({ now: deps.clock.now(), limits: deps.config.turns });

/** The worker begins. */
export const startTurn = (deps: Deps, holder: Holder) =>
  advanced(deps, holder, start(holder, when(deps)), (head) => isGated(holder, head) && head.state !== 'dispatched');

/** One step of reasoning; the same step and phase again is the same. */
export const takeStep = (deps: Deps, holder: Holder, id: string, phase: string, metadata?: JsonObject) => {
  refuseTooLarge('The metadata', metadata ?? {}, deps.config.limits.carriedBytes);
  const transition = step(holder, { id, phase, at: deps.clock.now(), metadata });
  const isNew = any(isNot('step.id', id), isNot('step.phase', phase));
  const isRepeated = (head: Head) => isGated(holder, head) && head.step?.id === id && head.step.phase === phase;
  return advanced(deps, holder, transition, isRepeated, isNew);
};

/** The worker waits for tools, and may forget the turn until it can go on. */
export const suspendTurn = (deps: Deps, holder: Holder, calls: Awaited[], waitMs?: number) =>
  advanced(
    deps,
    holder,
    suspend(holder, calls, waitMs, when(deps)),
    (head) =>
      isGated(holder, head) && calls.every(({ toolCall, step: id }) => ownIn(head.waitingSteps, toolCall) === id),
  );

export interface Delivered {
  status: Ending;
  deliverable: string;
  outputBox?: string;
  error?: string;
  errorCode?: string;
}

export const deliverTurn = (deps: Deps, holder: Holder, delivered: Delivered) =>
  advanced(deps, holder, deliver(holder, { ...delivered, at: deps.clock.now() }), ({ last }) => {
    const isLast = last?.turn === holder.turn && last.epoch === holder.epoch;
    return isLast && last.status === delivered.status && last.deliverable === delivered.deliverable;
  });

/** One conditional write. Where it is refused, the head that came back says whether it had been made before, or why not. */
export const advanced = async (
  deps: Deps,
  { project, agent, turn, epoch }: Holder,
  transition: Transition<Head>,
  isRepeated: (head: Head) => boolean,
  ...more: Condition[]
): Promise<{ duplicate: boolean }> => {
  const done = await perform(
    deps.records,
    headRef(project, agent),
    deps.newId(),
    unseen(transition, ...more),
    (head) => {
      if (!head) throw stale({ turn, epoch });
      if (isRepeated(head)) return 'unchanged';
      const decision = onSeen(head, transition);
      if (decision instanceof Error) throw decision;
      return decision;
    },
  );
  return { duplicate: done.outcome === 'unchanged' };
};
