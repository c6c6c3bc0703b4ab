import type { ComponentChildren } from 'preact';
import type { Task } from '../../api/types.ts';
import { formatDuration } from '../../model/format.ts';
import { isHeldState, isOpenState } from '../../model/task-state.ts';
import { now } from '../../state/clock.ts';
import { href } from '../../state/router.ts';
import { Id, StateBadge, Time } from '../../ui/basics.tsx';

export const Priority = ({ priority }: { priority: string }) => (
  <span class={`priority ${priority}`} title={`Priority ${priority}`}>
    {priority}
  </span>
);

/** How long it has run, or ran. */
const Took = ({ task }: { task: Task }) => {
  const { startedAt, completedAt } = task.metadata;
  if (startedAt === undefined) return <>–</>;
  const end = completedAt === undefined ? now.value : Date.parse(completedAt);
  return isOpenState(task.state) && !isHeldState(task.state) ? (
    <>–</>
  ) : (
    formatDuration(Math.max(0, end - Date.parse(startedAt)))
  );
};

interface CellProps {
  kind: string;
  title?: string;
  children: ComponentChildren;
}

const Cell = ({ kind, title, children }: CellProps) => (
  // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
  <span role="gridcell" class={`cell ${kind}`} title={title}>
    {children}
  </span>
);

export const TaskRow = ({ task }: { task: Task }) => (
  <>
    <Cell kind="state">
      <StateBadge state={task.state} />
    </Cell>
    <Cell kind="what">
      <a class="strong" href={href(['tasks', task.id])}>
        {task.type}
      </a>
      {task.state === 'in_progress' && task.progress?.percent !== undefined && (
        <span class="bar" title={`${task.progress.percent} %`}>
          <span style={{ width: `${task.progress.percent}%` }} />
        </span>
      )}
      {task.error && <code class="bad-text">{task.error.code}</code>}
      {task.lastError && <code class="warn-text">{task.lastError.code}</code>}
    </Cell>
    <Cell kind="id-cell">
      <Id id={task.id} to={href(['tasks', task.id])} />
    </Cell>
    <Cell kind="who">
      <span>{task.from}</span>
      <span class="arrow" aria-hidden="true">
        →
      </span>
      <span class={task.metadata.agent || task.to ? '' : 'muted'}>{task.metadata.agent ?? task.to ?? 'anyone'}</span>
    </Cell>
    <Cell kind="small-cell">
      <Priority priority={task.priority} />
    </Cell>
    <Cell kind="small-cell num" title="Attempt">
      {task.attempt > 1 ? `${task.attempt}/${task.maxAttempts}` : ''}
    </Cell>
    <Cell kind="num" title="Time at work">
      <Took task={task} />
    </Cell>
    <Cell kind="num">
      <Time at={task.createdAt} />
    </Cell>
  </>
);
