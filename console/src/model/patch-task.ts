import type { ParleyEvent } from '../api/event-stream.ts';
import type { Task, TaskState } from '../api/types.ts';
import { TASK_STATES } from './task-state.ts';

const isState = (text: unknown): text is TaskState => TASK_STATES.some((one) => one === text);

/** What an event says of a task in sight, without asking for it again. */
export const patchTask = (task: Task, { type, data, at }: ParleyEvent): Task => {
  const state = isState(data.status) ? data.status : task.state;
  const isEnd = ['task.completed', 'task.failed', 'task.expired', 'task.cancelled'].includes(type);
  const percent = typeof data.percent === 'number' ? { progress: { percent: data.percent } } : {};
  const metadata = {
    ...task.metadata,
    ...(data.agent !== undefined && { agent: data.agent }),
    ...(type === 'task.claimed' && { startedAt: new Date(at).toISOString() }),
    ...(isEnd && { completedAt: new Date(at).toISOString() }),
  };
  const attempt = typeof data.attempt === 'number' ? Math.max(task.attempt, data.attempt) : task.attempt;
  return { ...task, state, attempt, metadata, ...percent };
};
