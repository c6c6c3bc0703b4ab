import type { Json, JsonObject } from '../../kernel/json/json.ts';
import type { ShownTask } from '../api.ts';

const SHOWN = [
  'id',
  'state',
  'type',
  'from',
  'to',
  'priority',
  'createdAt',
  'result',
  'error',
  'lastError',
  'progress',
  'attempt',
  'retryAt',
  'conversationId',
] as const;

/** What a model needs of a task: its question under the name that says so, and nothing that is absent. */
export const showTask = (task: ShownTask): JsonObject => {
  const all = task as unknown as Record<string, Json | undefined>;
  const shown = SHOWN.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]]));
  const { artifacts, input } = task;
  return {
    ...Object.fromEntries(shown),
    ...(artifacts && { artifacts: artifacts.map(({ name, type }) => ({ name, type })) }),
    ...(task.state === 'input_required' && input && { question: input as JsonObject }),
  };
};
