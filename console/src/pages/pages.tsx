import type { ComponentType } from 'preact';
import { href, steps } from '../state/router.ts';
import { Empty } from '../ui/basics.tsx';
import { Page } from '../ui/page.tsx';
import { Overview } from './overview/overview.tsx';
import { TaskPage } from './task/task-page.tsx';
import { Tasks } from './tasks/tasks.tsx';

const LISTS: Record<string, ComponentType> = { '': Overview, tasks: Tasks };
const DETAILS: Record<string, ComponentType<{ id: string }>> = { tasks: TaskPage };

const NotFound = () => (
  <Page title="No such page" name="No such page">
    <Empty title="There is nothing at this address" icon="search">
      <a href={href([])}>Go to the overview</a>, or press <kbd>/</kbd> to find a page or a task.
    </Empty>
  </Page>
);

export const Pages = () => {
  const [name = '', id] = steps.value;
  const Detail = DETAILS[name];
  if (id !== undefined && Detail) return <Detail key={id} id={id} />;
  const List = id === undefined ? LISTS[name] : undefined;
  return List ? <List /> : <NotFound />;
};
