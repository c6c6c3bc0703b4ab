import type { Outgoing } from '../ports/queues.ts';
import type { RecordChange } from '../ports/records.ts';
import { relayedRequest } from '../relay/relayed.ts';
import { laneOf, type Task } from './task.ts';

/** Of all that follows from one write to a task, the part that agents wait for. */
export const queuedBy = ({ before, after }: RecordChange<Task>): Outgoing[] => {
  if (after?.status !== 'requested') return [];
  const isQueuedAnew = before?.entry !== after.entry || before.resent !== after.resent;
  return isQueuedAnew ? queueMessages(after) : [];
};

/** Where it is offered on both sides, whoever claims it first has it. */
const queueMessages = (task: Task): Outgoing[] => {
  if (task.toNats === 'too') return [laneMessage(task), relayedRequest(task)];
  return [task.toNats ? relayedRequest(task) : laneMessage(task)];
};

/** The queue message says just enough to claim the task in one write; the task itself stays in its record. */
const laneMessage = (task: Task): Outgoing => ({
  lane: laneOf(task),
  group: task.id,
  dedup: `${task.id}#${task.entry}#${task.resent}`,
  at: task.queuedAt,
  body: {
    taskId: task.id,
    entry: task.entry,
    due: task.due ?? task.deadline,
    bytes: 'blob' in task.input ? task.input.bytes : 0,
    ...(task.to === undefined && task.chain && { chain: task.chain }),
  },
});
