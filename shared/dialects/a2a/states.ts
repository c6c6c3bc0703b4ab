import type { Json } from '../../kernel/json/json.ts';
import type { Task, TaskError } from '../../model/task.ts';
import { REJECTED_CODE } from './decode.ts';
import type { TaskState } from './schema.ts';

/** By these an agent of any dialect says that it will not do a task, whoever sends it. */
const REJECTION_CODES: ReadonlySet<string> = new Set([
  REJECTED_CODE,
  'skill_missing',
  'invalid_params',
  'CAPABILITY_NOT_FOUND',
  'INVALID_INPUT',
  'VALIDATION_FAILED',
]);

interface StateFacts extends Pick<Task, 'status'> {
  attempt: number;
  prompt?: { [key: string]: Json | undefined } | undefined;
  error?: TaskError | undefined;
}

/** Once claimed, a task never goes back to submitted, whoever has it next. */
export const toTaskState = ({ status, attempt, prompt, error }: StateFacts): TaskState => {
  switch (status) {
    case 'waiting':
    case 'requested':
      return attempt === 0 ? 'TASK_STATE_SUBMITTED' : 'TASK_STATE_WORKING';
    case 'claimed':
    case 'in_progress':
      return 'TASK_STATE_WORKING';
    case 'input_required':
      return prompt?.kind === 'auth' ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED';
    case 'completed':
      return 'TASK_STATE_COMPLETED';
    case 'cancelled':
      return 'TASK_STATE_CANCELED';
    case 'expired':
      return 'TASK_STATE_FAILED';
    case 'failed':
      return toFailedState(error);
  }
};

const toFailedState = (error: TaskError | undefined): TaskState => {
  if (error?.code.toLowerCase() === 'cancelled') return 'TASK_STATE_CANCELED';
  return error && !error.retryable && REJECTION_CODES.has(error.code) ? 'TASK_STATE_REJECTED' : 'TASK_STATE_FAILED';
};
