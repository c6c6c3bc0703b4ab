import type { HttpRequest } from './http-message.ts';

/** Takes down every task that a request is about; a batch is about several. */
export const createTaskLogger = ({ addLogFields }: HttpRequest): ((taskId: string) => void) => {
  const ids = new Set<string>();
  return (taskId) => {
    ids.add(taskId);
    addLogFields?.({ taskId: [...ids].join(' ') });
  };
};
