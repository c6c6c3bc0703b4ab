import { useSignal } from '@preact/signals';
import type { Task } from '../../api/types.ts';
import { formatBounded, formatCount, plural } from '../../model/format.ts';
import { usePaged } from '../../state/pages.ts';
import { href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Empty, Id, Loading, ProblemNote, StateBadge, Time } from '../../ui/basics.tsx';
import { Card, Page } from '../../ui/page.tsx';
import { BulkDialog } from '../tasks/bulk-dialog.tsx';
import type { Filter } from '../tasks/task-pages.ts';

const SHOWN_OF_GROUP = 3;

const toFilter = (code: string): Filter =>
  code === 'expired' ? { status: 'expired' } : { status: 'failed,expired', error: code };

/** What failed for good, by what went wrong: one cause is one line. */
export const DeadLetters = () => {
  const dead = usePaged<Task>('v1/tasks', 'tasks', { status: 'failed,expired', count: 'true' }, ({ type }) =>
    /^task\.(failed|expired|requested|released)/.test(type),
  );
  const retried = useSignal<Filter | undefined>(undefined);
  const { data, problem, hasMore, loadMore, reload, count } = dead;
  const groups = [
    ...Map.groupBy(data.value ?? [], ({ state, error }) =>
      state === 'expired' ? 'expired' : (error?.code ?? 'unknown'),
    ),
  ];
  const sorted = groups.toSorted(([, a], [, b]) => b.length - a.length);
  const most = sorted[0]?.[1].length ?? 1;
  return (
    <Page
      title="Dead letters"
      name="Dead letters"
      lead={
        count.value &&
        count.value.value > 0 &&
        `${formatBounded(count.value)} failed for good or expired. They stay until someone retries them.`
      }
      actions={
        canOperate.value &&
        sorted.length > 0 && (
          <Button icon="retry" onClick={() => (retried.value = { status: 'failed,expired' })}>
            Retry all…
          </Button>
        )
      }
    >
      {problem.value && <ProblemNote problem={problem.value} onRetry={reload} />}
      {!data.value && !problem.value && <Loading />}
      {data.value?.length === 0 && (
        <Card>
          <Empty title="No dead letters">
            Tasks that fail for good or expire stay here until someone retries them.
          </Empty>
        </Card>
      )}
      {sorted.map(([code, tasks]) => (
        <Group
          key={code}
          code={code}
          tasks={tasks}
          share={tasks.length / most}
          isPart={hasMore.value}
          onRetry={() => (retried.value = toFilter(code))}
        />
      ))}
      {hasMore.value && (
        <div class="more">
          <Button onClick={loadMore}>Look at more</Button>{' '}
          <span class="muted">{formatCount(data.value?.length ?? 0)} looked at</span>
        </div>
      )}
      {retried.value && (
        <BulkDialog
          kind="retry"
          filter={retried.value}
          onClose={() => {
            retried.value = undefined;
            reload();
          }}
        />
      )}
    </Page>
  );
};

interface GroupProps {
  code: string;
  tasks: Task[];
  share: number;
  isPart: boolean;
  onRetry: () => void;
}

const Group = ({ code, tasks, share, isPart, onRetry }: GroupProps) => {
  const types = [...new Set(tasks.map(({ type }) => type))];
  return (
    <Card
      isFlush
      title={
        <>
          <code class="bad-text">{code}</code> <span class="muted">{tasks[0]?.error?.message}</span>
        </>
      }
      aside={
        <span class="group-head">
          <span class="meter-line">
            <span style={{ width: `${share * 100}%` }} />
          </span>
          <a href={href(['tasks'], toFilter(code))}>
            {plural(tasks.length, 'task')}
            {isPart && ' so far'}
          </a>
          {canOperate.value && <Button onClick={onRetry}>Retry these…</Button>}
        </span>
      }
    >
      <ul class="lines">
        {tasks.slice(0, SHOWN_OF_GROUP).map((task) => (
          <li key={task.id}>
            <StateBadge state={task.state} />
            <a class="strong clip" href={href(['tasks', task.id])}>
              {task.type}
            </a>
            <Id id={task.id} to={href(['tasks', task.id])} />
            <span class="grow muted clip">{task.metadata.agent}</span>
            <span class="muted num">
              <Time at={task.metadata.completedAt ?? task.createdAt} />
            </span>
          </li>
        ))}
        {tasks.length > SHOWN_OF_GROUP && (
          <li class="muted">
            <a href={href(['tasks'], toFilter(code))}>{formatCount(tasks.length - SHOWN_OF_GROUP)} more</a> of{' '}
            {types.slice(0, 3).join(', ')}
          </li>
        )}
      </ul>
    </Card>
  );
};
