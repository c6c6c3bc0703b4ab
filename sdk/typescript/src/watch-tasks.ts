import type { Json } from './json.ts';
import { readEvents } from './sse.ts';
import type { Transport } from './transport.ts';

interface TaskWatcher {
  onCancelled(taskId: string): void;
  onReleased(taskId: string, attempt: number): void;
  /** What happened before, or between two streams, is not in them. */
  onOpen(): void;
}

/** Follows the events that end the work of a handler, for as long as any handler runs. */
export const watchTasks = async (transport: Transport, signal: AbortSignal, watcher: TaskWatcher): Promise<void> => {
  const types = 'task.cancelled,task.released,task.retrying,task.completed,task.failed';
  for await (const { data } of readEvents(transport, '/v1/events', {
    query: { type: types },
    signal,
    onOpen: watcher.onOpen,
  })) {
    const { type, taskId, attempt } = toTaskEvent(data);
    if (taskId === undefined) continue;
    if (type === 'task.cancelled') watcher.onCancelled(taskId);
    else watcher.onReleased(taskId, attempt);
  }
};

const toTaskEvent = (data: Json): { type: unknown; taskId?: string; attempt: number } => {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return { type: undefined, attempt: 0 };
  const { type } = data;
  const about = typeof data.data === 'object' && data.data !== null && !Array.isArray(data.data) ? data.data : {};
  const { taskId, attempt } = about;
  return {
    type,
    ...(typeof taskId === 'string' && { taskId }),
    attempt: typeof attempt === 'number' ? attempt : 0,
  };
};
