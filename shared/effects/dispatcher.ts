import { hasRelay } from '../config/config.ts';
import type { Directory } from '../identity/agents/directory.ts';
import type { Deps } from '../identity/deps.ts';
import { type Delivery, type TaskOutcome, withDerivedId } from '../messaging/inbox/delivery.ts';
import { toRelayEventMessage } from '../nats/relay-event.ts';
import { buildOutcomeRelay } from '../nats/relay-item.ts';
import { lessThan, notEquals, notExists, or } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { QueueMessage } from '../ports/queues.ts';
import type { NewItem, RecordChange } from '../ports/records.ts';
import { reconcileDependents, updateChildren } from '../tasks/dependencies/link-fanout.ts';
import { reconcileDependencies } from '../tasks/dependencies/reconcile-dependencies.ts';
import { type HistoryEntry, historyRef } from '../tasks/model/history.ts';
import { executeTurnEffect } from '../turns/lifecycle/execute-effect.ts';
import { getItemKind } from '../workflows/batches/item-kinds.ts';
import { recordItemEnd } from '../workflows/batches/record-item-end.ts';
import { cancelGraphNodes } from '../workflows/graphs/cancel-nodes.ts';
import { reconcileGraph } from '../workflows/graphs/reconcile-graph.ts';
import type { Effect } from './effect.ts';
import { computeEffects } from './record-handlers.ts';

/**
 * Carries out what follows from some changes. It may be called again with the same ones: every effect is safe to repeat.
 * Queues come first, because agents wait for them.
 */
export const dispatchChanges = async (deps: Deps, changes: RecordChange[]): Promise<void> => {
  const messages: QueueMessage[] = [];
  const events: ParleyEvent[] = [];
  const others: OtherEffect[] = [];
  for (const effect of await expandForRelay(deps, changes.flatMap(computeEffects))) {
    if (effect.kind === 'enqueue') messages.push(effect.message);
    else if (effect.kind === 'publish') events.push(effect.event);
    else others.push(effect);
  }
  await Promise.all([
    messages.length > 0 && deps.queues.send(messages),
    events.length > 0 && deps.events.publish(events),
    ...others.map((effect) => executeEffect(deps, effect)),
  ]);
};

type OtherEffect = Exclude<Effect, { kind: 'enqueue' | 'publish' }>;

/** What is for somebody on NATS waits for the relay, in the order of the changes that it follows from. */
const expandForRelay = async (deps: Deps, effects: Effect[]): Promise<Effect[]> =>
  (await Promise.all(effects.map((effect) => expandEffectForRelay(deps, effect)))).flat();

const expandEffectForRelay = ({ config, directory }: Deps, effect: Effect): Effect[] | Promise<Effect[]> => {
  if (effect.kind === 'relay') {
    return hasRelay(config, effect.message.queueKey.project) ? [{ kind: 'enqueue', message: effect.message }] : [];
  }
  if (effect.kind === 'publish' && hasRelay(config, effect.event.project)) {
    const message = toRelayEventMessage(effect.event);
    return message ? [effect, { kind: 'enqueue', message }] : [effect];
  }
  if (effect.kind === 'deliver' && effect.delivery.outcome && hasRelay(config, effect.delivery.project)) {
    return routeDelivery(directory, effect, effect.delivery.project, effect.delivery.outcome);
  }
  return [effect];
};

const routeDelivery = async (
  directory: Directory,
  effect: Effect,
  project: string,
  outcome: TaskOutcome,
): Promise<Effect[]> => {
  const reader = await directory.getAgent(project, outcome.to);
  return reader?.agent.transport === 'nats'
    ? [{ kind: 'enqueue', message: buildOutcomeRelay(project, outcome) }]
    : [effect];
};

const executeEffect = async (deps: Deps, effect: OtherEffect): Promise<void> => {
  if (effect.kind === 'deliver') await createDelivery(deps, effect.delivery);
  if (effect.kind === 'appendHistory') await appendHistory(deps, effect.entry);
  if (effect.kind === 'cancelChildren') await updateChildren(deps, effect.of, effect.change);
  if (effect.kind === 'reconcileDependencies') await reconcileDependencies(deps, effect.of.project, effect.of.id);
  if (effect.kind === 'reconcileDependents') await reconcileDependents(deps, effect.of);
  if (effect.kind === 'reconcileGraph') await reconcileGraph(deps, effect.project, effect.graph);
  if (effect.kind === 'cancelGraphNodes') await cancelGraphNodes(deps, effect.of);
  if (effect.kind === 'recordBatchItemEnd')
    await recordItemEnd(deps, effect.project, effect.batchMembership, effect.end);
  if (effect.kind === 'stopBatchItem') await getItemKind(effect.item.kind).stop(deps, effect.project, effect.item.id);
  if (effect.kind === 'retain') await deps.blobs.retain(effect.blob);
  if (effect.kind === 'release') await deps.blobs.delete(effect.blob);
  if (effect.kind === 'turn') await executeTurnEffect(deps, effect.effect);
};

const createDelivery = async ({ records, newId }: Deps, delivery: NewItem<Delivery>): Promise<void> => {
  const created = await records.create<Delivery>(delivery, newId());
  if (created.outcome === 'refused' && created.existing?.source !== delivery.source) {
    await records.create<Delivery>(withDerivedId(delivery), newId());
  }
};

/** What the entry that had the place before may have said, and this one does not. */
const OPTIONAL_HISTORY_FIELDS = ['agent', 'claimedAt', 'endedAt', 'status', 'error', 'progress'] as const;

/** A later entry may have taken the place already. */
const appendHistory = async ({ records, newId }: Deps, entry: NewItem<HistoryEntry>): Promise<void> => {
  const older = or(notExists('version'), lessThan('version', entry.version), notEquals('cycle', entry.cycle));
  const { pk: _pk, sk: _sk, ...set } = entry;
  const unset = OPTIONAL_HISTORY_FIELDS.filter((field) => entry[field] === undefined);
  await records.update(historyRef(entry), { if: older, set, unset }, newId(), 'orCreate');
};
