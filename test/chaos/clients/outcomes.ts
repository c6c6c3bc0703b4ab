import type { Wire } from '../../support/speakers.ts';

/** What a dialect calls the task whose end a message tells; undefined for any other message. */
const TASK_OF_OUTCOME: Record<string, (message: Wire) => string | undefined> = {
  'round-table': ({ type, correlationId }) =>
    type === 'task.result' || type === 'task.failed' ? correlationId : undefined,
  native: ({ kind, taskId }) => (kind === 'result' || kind === 'failure' ? taskId : undefined),
  'task-format': ({ status, id }) => (['completed', 'failed', 'cancelled'].includes(status) ? id : undefined),
  'agent-os': ({ type, replyTo }) => (type === 'response' || type === 'error' ? replyTo : undefined),
  'message-routing': ({ type, correlation_id }) => (type === 'result' ? correlation_id : undefined),
  a2a: ({ task }) => task?.id,
};

export const getTaskOfOutcome = (dialect: string, message: Wire): string | undefined =>
  TASK_OF_OUTCOME[dialect]?.(message);
