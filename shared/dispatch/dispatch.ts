import type { Directory } from '../agents/directory.ts';
import { join } from '../batches/join.ts';
import { kindOfPart } from '../batches/part-kinds.ts';
import { hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import { cancelNodes } from '../graphs/cancel-nodes.ts';
import { lookAtGraph } from '../graphs/end-graph.ts';
import { type Delivery, type Outcome, renamed } from '../inbox/delivery.ts';
import { absent, any, below, isNot } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { Outgoing } from '../ports/queues.ts';
import type { Fresh, RecordChange } from '../ports/records.ts';
import { relayedOutcome } from '../relay/relayed.ts';
import { relayedEvent } from '../relay/relayed-event.ts';
import { lookAtDependencies } from '../tasks/dependencies.ts';
import { type HistoryEntry, historyRef } from '../tasks/history.ts';
import { changeChildren, lookAtWaiters } from '../tasks/walk.ts';
import { carryOutTurn } from '../turns/carry-out.ts';
import type { Effect } from './effect.ts';
import { kindOf } from './kinds.ts';

/**
 * Carries out what follows from some changes. It may be called again with the same ones: every effect is safe to repeat.
 * Queues come first, because agents wait for them.
 */
export const dispatch = async (deps: Deps, changes: RecordChange[]): Promise<void> => {
  const messages: Outgoing[] = [];
  const events: ParleyEvent[] = [];
  const others: OtherEffect[] = [];
  for (const effect of await throughRelay(deps, changes.flatMap(effectsOfAny))) {
    if (effect.kind === 'enqueue') messages.push(effect.message);
    else if (effect.kind === 'announce') events.push(effect.event);
    else others.push(effect);
  }
  await Promise.all([
    messages.length > 0 && deps.queues.send(messages),
    events.length > 0 && deps.events.publish(events),
    ...others.map((effect) => carryOut(deps, effect)),
  ]);
};

type OtherEffect = Exclude<Effect, { kind: 'enqueue' | 'announce' }>;

/** What is for somebody on NATS waits for the relay, in the order of the changes that it follows from. */
const throughRelay = async (deps: Deps, effects: Effect[]): Promise<Effect[]> =>
  (await Promise.all(effects.map((effect) => relayedOr(deps, effect)))).flat();

const relayedOr = ({ config, directory }: Deps, effect: Effect): Effect[] | Promise<Effect[]> => {
  if (effect.kind === 'relay') {
    return hasRelay(config, effect.message.lane.project) ? [{ kind: 'enqueue', message: effect.message }] : [];
  }
  if (effect.kind === 'announce' && hasRelay(config, effect.event.project)) {
    const message = relayedEvent(effect.event);
    return message ? [effect, { kind: 'enqueue', message }] : [effect];
  }
  if (effect.kind === 'deliver' && effect.delivery.outcome && hasRelay(config, effect.delivery.project)) {
    return deliveredOr(directory, effect, effect.delivery.project, effect.delivery.outcome);
  }
  return [effect];
};

const deliveredOr = async (
  directory: Directory,
  effect: Effect,
  project: string,
  outcome: Outcome,
): Promise<Effect[]> => {
  const reader = await directory.agent(project, outcome.to);
  return reader?.agent.via === 'nats' ? [{ kind: 'enqueue', message: relayedOutcome(project, outcome) }] : [effect];
};

const effectsOfAny = (change: RecordChange): Effect[] => {
  const record = change.after ?? change.before;
  return record ? kindOf(record).effects(change) : [];
};

const carryOut = async (deps: Deps, effect: OtherEffect): Promise<void> => {
  if (effect.kind === 'deliver') await deliver(deps, effect.delivery);
  if (effect.kind === 'remember') await remember(deps, effect.entry);
  if (effect.kind === 'cancelChildren') await changeChildren(deps, effect.of, effect.change);
  if (effect.kind === 'lookAtDependencies') await lookAtDependencies(deps, effect.of.project, effect.of.id);
  if (effect.kind === 'lookAtWaiters') await lookAtWaiters(deps, effect.of);
  if (effect.kind === 'lookAtGraph') await lookAtGraph(deps, effect.project, effect.graph);
  if (effect.kind === 'cancelNodes') await cancelNodes(deps, effect.of);
  if (effect.kind === 'join') await join(deps, effect.project, effect.joins, effect.end);
  if (effect.kind === 'stopPart') await kindOfPart(effect.part.kind).stop(deps, effect.project, effect.part.id);
  if (effect.kind === 'own') await deps.blobs.own(effect.blob);
  if (effect.kind === 'forget') await deps.blobs.delete(effect.blob);
  if (effect.kind === 'turn') await carryOutTurn(deps, effect.effect);
};

const deliver = async ({ records, newId }: Deps, delivery: Fresh<Delivery>): Promise<void> => {
  const created = await records.create<Delivery>(delivery, newId());
  if (created.outcome === 'refused' && created.current?.source !== delivery.source) {
    await records.create<Delivery>(renamed(delivery), newId());
  }
};

/** What the entry that had the place before may have said, and this one does not. */
const OPTIONAL = ['agent', 'claimedAt', 'endedAt', 'status', 'error', 'progress'] as const;

/** A later entry may have taken the place already. */
const remember = async ({ records, newId }: Deps, entry: Fresh<HistoryEntry>): Promise<void> => {
  const older = any(absent('version'), below('version', entry.version), isNot('life', entry.life));
  const { pk: _pk, sk: _sk, ...set } = entry;
  const unset = OPTIONAL.filter((field) => entry[field] === undefined);
  await records.update(historyRef(entry), { if: older, set, unset }, newId(), 'orCreate');
};
