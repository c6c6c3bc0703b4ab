import { get } from '../../api/call.ts';
import type { Task } from '../../api/types.ts';
import { plural, shorten } from '../../model/format.ts';
import { toLabel, toTone } from '../../model/task-state.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { Dag, type DagEdge } from '../../ui/dag.tsx';
import { Card } from '../../ui/page.tsx';

const MAX_SHOWN = 12;

const load = async (ids: string[], abort: AbortSignal): Promise<Map<string, Task>> => {
  const found = await Promise.all(
    ids.map((id) => get<Task>(`v1/tasks/${encodeURIComponent(id)}`, {}, abort).catch(() => undefined)),
  );
  return new Map(found.flatMap((task) => (task ? [[task.id, task] as const] : [])));
};

/** Where a task stands: what it came from, what it waits for, what it asked for. */
export const Relations = ({ task }: { task: Task }) => {
  const before = [task.parentTaskId, ...(task.dependencies ?? [])].filter((id): id is string => id !== undefined);
  const after = task.subtasks ?? [];
  const shown = [...before, ...after].slice(0, MAX_SHOWN);
  const { data } = useResource(`relations ${shown.join()} ${task.id}`, (abort) => load(shown, abort), {
    when: ({ data: { taskId } }) => taskId !== undefined && shown.includes(taskId),
  });
  if (shown.length === 0) return null;
  const known = data.value ?? new Map<string, Task>();
  const edges: DagEdge[] = [
    ...before.map((id) => ({ from: id, to: task.id, label: id === task.parentTaskId ? 'subtask' : 'needs' })),
    ...after.map((id) => ({ from: task.id, to: id })),
  ];
  const nodes = [...new Set([task.id, ...shown])].map((id) => {
    const one = id === task.id ? task : known.get(id);
    return {
      id,
      tone: `${toTone(one?.state ?? '')} ${id === task.id ? 'here' : ''}`,
      content: (
        <a href={href(['tasks', id])}>
          <span class="strong">{one?.type ?? shorten(id)}</span>
          <span class="muted small">
            {one ? toLabel(one.state) : '…'} {one?.metadata.agent && `· ${one.metadata.agent}`}
          </span>
        </a>
      ),
    };
  });
  return (
    <Card title="Relations" aside={after.length > MAX_SHOWN && plural(after.length, 'subtask')}>
      <Dag label="Relations of this task" nodes={nodes} edges={edges} />
    </Card>
  );
};
