import type { Deps } from '../../identity/deps.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import { agentTurnsPk } from '../../model/agent-state.ts';
import { QUEUED_PREFIX, type QueuedTurn, stepRef, turnRef } from '../../model/turn.ts';
import type { TurnEffect } from '../../model/turn-effect.ts';
import { equals, lessThan, notExists, or } from '../../ports/conditions.ts';
import { sendWakeup } from '../wakeups/wakeups.ts';
import { findOldestGroupTurn } from './group-queues.ts';

type TurnEffectOf<K extends TurnEffect['kind']> = Extract<TurnEffect, { kind: K }>;

export const recordLease = async (
  { records, newId }: Deps,
  { project, turn, agent, epoch, at }: TurnEffectOf<'recordLease'>,
): Promise<void> => {
  const set = { state: 'leased', agent, epoch, leasedAt: at };
  const change = { if: equals('state', 'queued'), set, unset: ['due', 'isForGroup'] };
  await records.update(turnRef(project, turn), change, newId());
};

export const putTurnStep = async (
  { records, newId }: Deps,
  { project, turn, number, step }: TurnEffectOf<'putStep'>,
): Promise<void> => {
  const newer = or(notExists('number'), lessThan('number', number));
  const set = { number, step, expires: step.at + RELATED_RETENTION_MS };
  await records.update(stepRef(project, turn, number), { if: newer, set }, newId(), 'orCreate');
};

export const wakeIfQueued = async (
  deps: Deps,
  { project, agent, cause, at }: TurnEffectOf<'wakeIfQueued'>,
): Promise<void> => {
  const [own] = await deps.records.query<QueuedTurn>({
    pk: agentTurnsPk(project, agent),
    prefix: QUEUED_PREFIX,
    limit: 1,
  });
  const registered = own ? undefined : await deps.directory.getAgent(project, agent);
  const next = own ?? (registered && (await findOldestGroupTurn(deps, registered.agent)));
  if (!next) return;
  const { channel, depth, traceparent, tracestate, protocolVersion } = next;
  const about = { project, channel, depth, traceparent, tracestate, protocolVersion };
  await sendWakeup(deps, { cause, at, target: agent, inboxId: next.correlation, reason: 'enqueue', context: about });
};

export const putCorrelation = (
  { records, config, newId }: Deps,
  { edge }: TurnEffectOf<'putCorrelation'>,
): Promise<unknown> => records.create({ ...edge, expires: edge.happenedAt + config.turns.retentionMs }, newId());
