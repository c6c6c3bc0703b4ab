import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { type Task, taskRef, toQueueKey } from '../../model/task.ts';
import { buildRequestRelay } from '../../nats/relay-item.ts';
import { and, equals, notExists } from '../../ports/conditions.ts';
import type { QueueMessage, QueueShare } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';

/** The effects of a write that agents wait for. */
export const buildQueueMessages = ({ before, after }: RecordChange<Task>): QueueMessage[] => {
  if (after?.status !== 'requested' || after.notBefore !== undefined) return [];
  const isQueuedAnew = before?.queueGeneration !== after.queueGeneration || before.requeueCount !== after.requeueCount;
  return isQueuedAnew ? buildMessagesForTarget(after) : [];
};

/** On both sides: the first claim wins. */
const buildMessagesForTarget = (task: Task): QueueMessage[] => {
  if (task.deliveryTarget === 'both') return [buildQueueMessage(task), buildRequestRelay(task)];
  return [task.deliveryTarget ? buildRequestRelay(task) : buildQueueMessage(task)];
};

export const toQueueShare = ({ from, conversation }: Pick<Task, 'from' | 'conversation'>): QueueShare => ({
  requester: from,
  ...(conversation !== undefined && { conversation }),
});

/** Just enough to claim the task with one write. */
const buildQueueMessage = (task: Task, more: JsonObject = {}): QueueMessage => ({
  queueKey: toQueueKey(task),
  group: task.id,
  dedupId: `${task.id}#${task.queueGeneration}#${task.requeueCount}`,
  at: task.turnAt ?? task.queuedAt,
  share: toQueueShare(task),
  body: {
    taskId: task.id,
    queueGeneration: task.queueGeneration,
    due: task.due ?? task.deadline,
    bytes: 'blob' in task.input ? task.input.bytes : 0,
    ...(task.limits && { isLimited: true }),
    ...more,
    ...(task.to === undefined && task.delegationChain && { delegationChain: task.delegationChain }),
    ...(task.declinedBy && { declinedBy: task.declinedBy }),
    // A receive from a domain may have to leave it out.
    ...(task.to === undefined && task.routingCapability && { capability: task.routingCapability }),
  },
});

/** Once for each cause: the first message of the task may be gone. Beside it, so that neither waits for the other. */
export const buildStartMessage = (task: Task, cause: string): QueueMessage => {
  const message = buildQueueMessage(task, { isStart: true });
  return { ...message, group: `${task.id}#start`, dedupId: `${message.dedupId}#start#${cause}` };
};

/**
 * Queues at once what the dispatcher will queue anyway, under the same deduplication id. If it fails, the dispatcher does it.
 */
export const enqueueEagerly = (deps: Deps, change: RecordChange<Task>): Promise<void> | undefined => {
  // Messages for NATS keep the order of the change feed.
  const messages = buildQueueMessages(change).filter(({ queueKey }) => queueKey.kind !== 'relay');
  return messages.length === 0 ? undefined : trySendMessages(deps, change, messages);
};

const trySendMessages = async (deps: Deps, change: RecordChange<Task>, messages: QueueMessage[]): Promise<void> => {
  try {
    await deps.queues.send(messages);
  } catch (error) {
    deps.log('warn', 'eager enqueue failed, left to the dispatcher', {
      taskId: change.after?.id,
      error: String(error),
    });
  }
};

/** If the task still waits for the message of this generation. */
export const requeueTask = async (
  deps: Deps,
  project: string,
  taskId: string,
  entry: number,
): Promise<{ isSent: boolean; task?: Task | undefined }> => {
  const waiting = and(equals('status', 'requested'), equals('queueGeneration', entry), notExists('notBefore'));
  const change = { if: waiting, add: { requeueCount: 1 } };
  const written = await deps.records.update(taskRef(project, taskId), change, deps.newId());
  if (written.outcome === 'refused') return { isSent: false, task: written.existing };
  if (!written.replayed) await enqueueEagerly(deps, written);
  return { isSent: true, task: written.after };
};
