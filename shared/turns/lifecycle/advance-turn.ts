import type { Deps } from '../../identity/deps.ts';
import { assertMaxSize, type JsonObject } from '../../kernel/json/json.ts';
import { type AgentState, agentStateRef, getOwn, type TurnResult } from '../../model/agent-state.ts';
import { type Condition, notEquals, or } from '../../ports/conditions.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import { applyTo, type Transition, toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { type FencingToken, isCurrentToken, staleTurnError } from './rules.ts';
import {
  type AwaitedCall,
  buildDeliverTransition,
  buildStartTransition,
  buildStepTransition,
  buildSuspendTransition,
  toTurnTransitionContext,
} from './transitions.ts';

export interface TurnHolder extends FencingToken {
  project: string;
  agent: string;
}

export const startTurn = (deps: Deps, holder: TurnHolder) =>
  updateAgentState(
    deps,
    holder,
    buildStartTransition(holder, toTurnTransitionContext(deps)),
    (head) => isCurrentToken(holder, head) && head.state !== 'dispatched',
  );

/** Idempotent by step and phase. */
export const recordStep = (deps: Deps, holder: TurnHolder, id: string, phase: string, metadata?: JsonObject) => {
  assertMaxSize('The metadata', metadata ?? {}, deps.config.limits.extensionBytes);
  const transition = buildStepTransition(holder, { id, phase, at: deps.clock.now(), metadata });
  const isNew = or(notEquals('step.id', id), notEquals('step.phase', phase));
  const isRepeated = (head: AgentState) =>
    isCurrentToken(holder, head) && head.step?.id === id && head.step.phase === phase;
  return updateAgentState(deps, holder, transition, isRepeated, isNew);
};

/** The worker may forget the turn until its tools have reported. */
export const suspendTurn = (deps: Deps, holder: TurnHolder, calls: AwaitedCall[], waitMs?: number) =>
  updateAgentState(
    deps,
    holder,
    buildSuspendTransition(holder, calls, waitMs, toTurnTransitionContext(deps)),
    (head) =>
      isCurrentToken(holder, head) &&
      calls.every(({ toolCall, step: id }) => getOwn(head.waitingSteps, toolCall) === id),
  );

interface DeliverTurnInput {
  status: TurnResult;
  deliverable: string;
  outputBox?: string;
  error?: string;
  errorCode?: string;
}

export const deliverTurn = (deps: Deps, holder: TurnHolder, delivered: DeliverTurnInput) =>
  updateAgentState(deps, holder, buildDeliverTransition(holder, { ...delivered, at: deps.clock.now() }), ({ last }) => {
    const isLast = last?.turn === holder.turn && last.epoch === holder.epoch;
    return isLast && last.status === delivered.status && last.deliverable === delivered.deliverable;
  });

/** If the write is rejected, the record that comes back tells a repetition from an error. */
export const updateAgentState = async (
  deps: Deps,
  { project, agent, turn, epoch }: TurnHolder,
  transition: Transition<AgentState>,
  isRepeated: (head: AgentState) => boolean,
  ...more: Condition[]
): Promise<{ duplicate: boolean }> => {
  const done = await updateWithRetry(
    deps.records,
    agentStateRef(project, agent),
    deps.newId(),
    toConditionalUpdate(transition, ...more),
    (head) => {
      if (!head) throw staleTurnError({ turn, epoch });
      if (isRepeated(head)) return 'unchanged';
      const decision = applyTo(head, transition);
      if (decision instanceof Error) throw decision;
      return decision;
    },
  );
  return { duplicate: done.outcome === 'unchanged' };
};
