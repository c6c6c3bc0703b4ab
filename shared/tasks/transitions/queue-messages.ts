import { buildRequestRelay } from '../../nats/relay-item.ts';
import type { QueueMessage } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';
import { type Task, toQueueKey } from '../model/task.ts';

/** Of all that follows from one write to a task, the part that agents wait for. */
export const buildQueueMessages = ({ before, after }: RecordChange<Task>): QueueMessage[] => {
  if (after?.status !== 'requested') return [];
  const isQueuedAnew = before?.entry !== after.entry || before.resent !== after.resent;
  return isQueuedAnew ? buildMessagesForTarget(after) : [];
};

/** Where it is offered on both sides, whoever claims it first has it. */
const buildMessagesForTarget = (task: Task): QueueMessage[] => {
  if (task.toNats === 'too') return [buildQueueMessage(task), buildRequestRelay(task)];
  return [task.toNats ? buildRequestRelay(task) : buildQueueMessage(task)];
};

/** The queue message says just enough to claim the task in one write; the task itself stays in its record. */
const buildQueueMessage = (task: Task): QueueMessage => ({
  queueKey: toQueueKey(task),
  group: task.id,
  dedupId: `${task.id}#${task.entry}#${task.resent}`,
  at: task.queuedAt,
  body: {
    taskId: task.id,
    entry: task.entry,
    due: task.due ?? task.deadline,
    bytes: 'blob' in task.input ? task.input.bytes : 0,
    ...(task.to === undefined && task.chain && { chain: task.chain }),
    ...(task.unable && { unable: task.unable }),
  },
});
