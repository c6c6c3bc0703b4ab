import { type Task, toQueueKey } from '../../model/task.ts';
import { buildRequestRelay } from '../../nats/relay-item.ts';
import type { QueueMessage } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';

/** The effects of a write that agents wait for. */
export const buildQueueMessages = ({ before, after }: RecordChange<Task>): QueueMessage[] => {
  if (after?.status !== 'requested') return [];
  const isQueuedAnew = before?.queueGeneration !== after.queueGeneration || before.requeueCount !== after.requeueCount;
  return isQueuedAnew ? buildMessagesForTarget(after) : [];
};

/** Where it is offered on both sides, whoever claims it first has it. */
const buildMessagesForTarget = (task: Task): QueueMessage[] => {
  if (task.deliveryTarget === 'both') return [buildQueueMessage(task), buildRequestRelay(task)];
  return [task.deliveryTarget ? buildRequestRelay(task) : buildQueueMessage(task)];
};

/** The queue message says just enough to claim the task in one write; the task itself stays in its record. */
const buildQueueMessage = (task: Task): QueueMessage => ({
  queueKey: toQueueKey(task),
  group: task.id,
  dedupId: `${task.id}#${task.queueGeneration}#${task.requeueCount}`,
  at: task.queuedAt,
  body: {
    taskId: task.id,
    queueGeneration: task.queueGeneration,
    due: task.due ?? task.deadline,
    bytes: 'blob' in task.input ? task.input.bytes : 0,
    ...(task.to === undefined && task.delegationChain && { delegationChain: task.delegationChain }),
    ...(task.declinedBy && { declinedBy: task.declinedBy }),
  },
});
