import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Task } from '../../api/types.ts';
import { formatBounded, plural } from '../../model/format.ts';
import { useNarrow } from '../../state/narrow.ts';
import { go, href, params } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Empty, Loading, ProblemNote } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { BulkDialog, type BulkKind } from './bulk-dialog.tsx';
import { Filters, readFilter } from './filters.tsx';
import { type Filter, type TaskPages, useTaskPages } from './task-pages.ts';
import { TaskRow } from './task-row.tsx';

const WIDE_ROW = 44;
const NARROW_ROW = 76;

const COLUMNS: [label: string, more: string][] = [
  ['State', ''],
  ['Task', ''],
  ['Id', ''],
  ['Requester → holder', ''],
  ['Priority', ''],
  ['Try', 'num'],
  ['At work', 'num'],
  ['Created', 'num'],
];

const Header = () => (
  // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
  <div role="row" class="list-head">
    {COLUMNS.map(([label, more]) => (
      // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
      <span key={label} role="columnheader" class={`cell ${more}`}>
        {label}
      </span>
    ))}
  </div>
);

const NoTasks = ({ filter }: { filter: Filter }) =>
  Object.keys(filter).length > 0 ? (
    <Empty title="No task matches" icon="search">
      Take a filter away, or look at a longer time.
    </Empty>
  ) : (
    <Empty title="No tasks yet" icon="tasks">
      <a href={href(['submit'])}>Submit one</a>, or run <code>npm run demo</code> and watch.
    </Empty>
  );

export const TaskList = ({ pages, filter }: { pages: TaskPages; filter: Filter }) => {
  const isNarrow = useNarrow();
  const isOver = useSignal(false);
  const isTop = useSignal(true);
  pages.mayMove = isTop.value && !isOver.value;
  useEffect(() => {
    if (isTop.value && !isOver.value) pages.showNewer();
  }, [isTop.value, isOver.value, pages]);
  const items = pages.items.value;
  const fresh = pages.newer.value;
  return (
    <div class="list-frame" onPointerEnter={() => (isOver.value = true)} onPointerLeave={() => (isOver.value = false)}>
      {pages.problem.value && <ProblemNote problem={pages.problem.value} onRetry={() => pages.loadFirst()} />}
      {fresh && (
        <div class="newer">
          <Button icon="up" onClick={() => pages.showNewer()}>
            Show newer tasks
          </Button>
        </div>
      )}
      {!pages.isLoaded.value && !pages.problem.value && <Loading />}
      {pages.isLoaded.value && items.length === 0 && <NoTasks filter={filter} />}
      {items.length > 0 && (
        <VirtualList<Task>
          items={items}
          rowHeight={isNarrow ? NARROW_ROW : WIDE_ROW}
          label="Tasks"
          keyOf={({ id }) => id}
          header={<Header />}
          renderRow={(task) => <TaskRow task={task} />}
          onEnd={() => void pages.loadMore()}
          onTop={(top) => (isTop.value = top)}
          onOpen={({ id }) => go(href(['tasks', id]))}
        />
      )}
    </div>
  );
};

export const Tasks = () => {
  const filter = readFilter(params.value);
  const pages = useTaskPages(filter);
  const bulk = useSignal<BulkKind | undefined>(undefined);
  const isFiltered = Object.keys(filter).length > 0;
  const count = pages.count.value;
  return (
    <Page
      title="Tasks"
      name="Tasks"
      lead={count && `${formatBounded(count)} ${isFiltered ? 'match' : plural(count.value, 'task').split(' ').at(-1)}`}
      actions={
        canOperate.value && (
          <>
            <Button
              icon="retry"
              onClick={() => (bulk.value = 'retry')}
              isDisabled={!isFiltered}
              title={isFiltered ? '' : 'Set a filter first'}
            >
              Retry matching…
            </Button>
            <Button
              icon="cross"
              onClick={() => (bulk.value = 'cancel')}
              isDisabled={!isFiltered}
              title={isFiltered ? '' : 'Set a filter first'}
            >
              Cancel matching…
            </Button>
          </>
        )
      }
    >
      <Filters />
      <TaskList pages={pages} filter={filter} />
      {bulk.value && <BulkDialog kind={bulk.value} filter={filter} onClose={() => (bulk.value = undefined)} />}
    </Page>
  );
};
