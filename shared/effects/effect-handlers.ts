import { wakeAgentCallers } from '../adapters/called-agents.ts';
import { recordItemEnd } from '../batches/record-item-end.ts';
import type { Deps } from '../identity/deps.ts';
import { deliverReport } from '../messaging/direct-messages/deliver-report.ts';
import { type Delivery, withDerivedId } from '../model/delivery.ts';
import type { Effect } from '../model/effect.ts';
import { type HistoryEntry, historyRef } from '../model/history.ts';
import { listingRef, type TaskListing } from '../model/task-listing.ts';
import { and, lessThan, notEquals, notExists, or } from '../ports/conditions.ts';
import type { NewItem } from '../ports/records.ts';
import { reconcileDependents, updateChildren } from '../tasks/dependencies/link-fanout.ts';
import { reconcileDependencies } from '../tasks/dependencies/reconcile-dependencies.ts';
import { startWaiting } from '../tasks/limits/start-waiting.ts';
import { endTurn } from '../turns/lifecycle/end-turn.ts';
import { putCorrelation, putTurnStep, recordLease, wakeIfQueued } from '../turns/lifecycle/execute-effect.ts';
import { verifyDeliverable } from '../turns/lifecycle/result-cards.ts';
import { forceStop } from '../turns/lifecycle/stop-turn.ts';
import { completeTaskFromTurn, renewTaskFromTurn } from '../turns/task-bridge/sync-task.ts';
import { cancelTurnTask, completeFromTask, createTaskForTurn } from '../turns/task-bridge/turn-as-task.ts';
import { cancelToolCall, completeToolCallTask } from '../turns/tool-calls/complete-tool-call.ts';
import { reportBatchResult, reportTaskResult, reportTurnResult } from '../turns/tool-calls/report-result.ts';
import { completeUiAction } from '../turns/ui-actions/ui-action.ts';
import { sendWakeup } from '../turns/wakeups/wakeups.ts';
import { queueForPush, queueForWebhooks } from '../webhooks/outbox.ts';
import { stopBatchItem } from '../workflows/batches/batch-lifecycle.ts';
import { deliverGraphEnd } from '../workflows/graphs/deliver-graph-end.ts';
import { cancelGraphNodes, reconcileGraph } from '../workflows/graphs/graph-lifecycle.ts';

/** The dispatcher has replaced effects for NATS by queue messages. */
export type ExecutableEffect = Exclude<Effect, { kind: 'relay' }>;
type EffectKind = ExecutableEffect['kind'];
type EffectOf<K extends EffectKind> = Extract<ExecutableEffect, { kind: K }>;

/** All effects of one kind at once. A method, so that the handlers of all kinds have one type. */
interface EffectHandler<E extends ExecutableEffect> {
  handle(deps: Deps, effects: E[]): Promise<unknown>;
}

const forEach =
  <E extends ExecutableEffect>(execute: (deps: Deps, effect: E) => Promise<unknown>): EffectHandler<E>['handle'] =>
  (deps, effects) =>
    Promise.all(effects.map((effect) => execute(deps, effect)));

/**
 * Started in this order, because agents wait for queues. Effects may be repeated and late: each write is conditional.
 */
const HANDLERS: { [K in EffectKind]: EffectHandler<EffectOf<K>>['handle'] } = {
  enqueue: ({ queues }, effects) => queues.send(effects.map(({ message }) => message)),
  publish: async (deps, effects) => {
    const events = effects.map(({ event }) => event);
    await Promise.all([deps.events.publish(events), queueForWebhooks(deps, events)]);
  },
  wakeAgentCallers: (deps, effects) =>
    wakeAgentCallers(
      deps,
      effects.map(({ task }) => task),
    ),
  push: async (deps, effects) => {
    for (const { taskId, event } of effects) await queueForPush(deps, { taskId, event });
  },
  deliver: forEach((deps, { delivery }) => createDelivery(deps, delivery)),
  deliverReport: forEach((deps, { report }) => deliverReport(deps, report)),
  appendHistory: forEach((deps, { entry }) => appendHistory(deps, entry)),
  putListing: forEach((deps, { listing }) => putListing(deps, listing)),
  retain: forEach(({ blobs }, { blob }) => blobs.retain(blob)),
  release: forEach(({ blobs }, { blob }) => blobs.delete(blob)),
  startWaiting: forEach((deps, { project, key }) => startWaiting(deps, project, key)),
  cancelChildren: forEach((deps, { of, change }) => updateChildren(deps, of, change)),
  reconcileDependencies: forEach((deps, { of }) => reconcileDependencies(deps, of.project, of.id)),
  reconcileDependents: forEach((deps, { of }) => reconcileDependents(deps, of)),
  reconcileGraph: forEach((deps, { project, graph }) => reconcileGraph(deps, project, graph)),
  cancelGraphNodes: forEach((deps, { of }) => cancelGraphNodes(deps, of)),
  deliverGraphEnd: forEach((deps, { of }) => deliverGraphEnd(deps, of)),
  recordBatchItemEnd: forEach((deps, { project, batchMembership, end }) =>
    recordItemEnd(deps, project, batchMembership, end),
  ),
  stopBatchItem: forEach((deps, { project, item }) => stopBatchItem(deps, project, item)),
  recordLease: forEach(recordLease),
  endTurn: forEach(async (deps, effect) => {
    const end = await verifyDeliverable(deps, effect.project, effect.end);
    await endTurn(deps, { ...effect, id: effect.turn }, end, effect.steps);
  }),
  putStep: forEach(putTurnStep),
  sendWakeup: forEach((deps, { wakeup }) => sendWakeup(deps, wakeup)),
  wakeIfQueued: forEach(wakeIfQueued),
  putCorrelation: forEach(putCorrelation),
  completeToolCallTask: forEach((deps, { project, turn, toolCall, report }) =>
    completeToolCallTask(deps, project, turn, toolCall, report),
  ),
  cancelToolCall: forEach((deps, { project, turn, toolCall }) => cancelToolCall(deps, project, turn, toolCall)),
  reportTaskResult: forEach((deps, { task, call }) => reportTaskResult(deps, task, call)),
  reportTurnResult: forEach((deps, { turn, call, end }) => reportTurnResult(deps, turn, call, end)),
  reportBatchResult: forEach((deps, { batch, call }) => reportBatchResult(deps, batch, call)),
  createTaskForTurn: forEach((deps, { turn }) => createTaskForTurn(deps, turn)),
  completeTask: forEach((deps, { turn, end }) => completeTaskFromTurn(deps, turn, end)),
  renewTask: forEach((deps, effect) => renewTaskFromTurn(deps, effect)),
  completeUiAction: forEach((deps, { project, action, end }) => completeUiAction(deps, project, action, end)),
  cancelTurnTask: forEach((deps, { project, turn: id }) => cancelTurnTask(deps, { project, id })),
  stopTurn: forEach((deps, { project, turn }) =>
    forceStop(deps, project, turn, 'The task that it works on has ended, or is done by another.'),
  ),
  completeFromTask: forEach((deps, { task, turn }) => completeFromTask(deps, task, turn)),
};

const HANDLERS_BY_KIND: [kind: string, EffectHandler<ExecutableEffect>['handle']][] = Object.entries(HANDLERS);

export const executeEffects = async (deps: Deps, effects: ExecutableEffect[]): Promise<void> => {
  const byKind = Map.groupBy<string, ExecutableEffect>(effects, ({ kind }) => kind);
  await Promise.all(
    HANDLERS_BY_KIND.flatMap(([kind, handle]) => {
      const same = byKind.get(kind);
      return same ? [handle(deps, same)] : [];
    }),
  );
};

const createDelivery = async ({ records, newId }: Deps, delivery: NewItem<Delivery>): Promise<void> => {
  const created = await records.create<Delivery>(delivery, newId());
  if (created.outcome === 'refused' && created.existing?.source !== delivery.source) {
    await records.create<Delivery>(withDerivedId(delivery), newId());
  }
};

/** A later one may be there already. */
const putListing = async ({ records, newId, derivesListings }: Deps, listing: NewItem<TaskListing>): Promise<void> => {
  if (derivesListings) return;
  const { version, taskCreatedAt, project, id, pk: _pk, sk: _sk, ...set } = listing;
  if (version === 1 && (await records.create<TaskListing>(listing, newId())).outcome === 'written') return;
  const ref = listingRef(project, id);
  const isOlder = or(lessThan('version', version), lessThan('taskCreatedAt', taskCreatedAt));
  const change = { if: isOlder, set: { ...set, version, taskCreatedAt } };
  const updated = await records.update(ref, change, newId());
  if (updated.outcome === 'refused' && !updated.existing) await records.create<TaskListing>(listing, newId());
};

/** Fields that the overwritten entry may have and this one lacks. */
const OPTIONAL_HISTORY_FIELDS = [
  'agent',
  'claimedAt',
  'endedAt',
  'status',
  'error',
  'progress',
  'message',
  'question',
  'lastAnswer',
  'answer',
  'by',
] as const satisfies (keyof HistoryEntry)[];

/** A later entry may be there already. */
const appendHistory = async ({ records, newId }: Deps, entry: NewItem<HistoryEntry>): Promise<void> => {
  const { version, taskCreatedAt } = entry;
  const isOfAnotherTask = and(notEquals('taskCreatedAt', taskCreatedAt), notEquals('cycle', taskCreatedAt));
  const older = or(notExists('version'), lessThan('version', version), isOfAnotherTask);
  const { pk: _pk, sk: _sk, ...set } = entry;
  const unset = OPTIONAL_HISTORY_FIELDS.filter((field) => entry[field] === undefined);
  await records.update(historyRef(entry), { if: older, set, unset }, newId(), 'orCreate');
};
