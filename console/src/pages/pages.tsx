import type { ComponentType } from 'preact';
import { href, steps } from '../state/router.ts';
import { Empty } from '../ui/basics.tsx';
import { Page } from '../ui/page.tsx';
import { AgentPage } from './agents/agent-page.tsx';
import { Agents } from './agents/agents.tsx';
import { DeadLetters } from './dead-letters/dead-letters.tsx';
import { Events } from './events/events.tsx';
import { ForYou } from './for-you/for-you.tsx';
import { BatchPage } from './graphs/batch-page.tsx';
import { GraphPage } from './graphs/graph-page.tsx';
import { Graphs } from './graphs/graphs.tsx';
import { MapPage } from './map/map.tsx';
import { Overview } from './overview/overview.tsx';
import { Queues } from './queues/queues.tsx';
import { SchedulePage } from './schedules/schedule-page.tsx';
import { Schedules } from './schedules/schedules.tsx';
import { Submit } from './submit/submit.tsx';
import { TaskPage } from './task/task-page.tsx';
import { Tasks } from './tasks/tasks.tsx';
import { TurnPage } from './turns/turn-page.tsx';
import { Turns } from './turns/turns.tsx';
import { Violations } from './violations/violations.tsx';
import { WebhookPage } from './webhooks/webhook-page.tsx';
import { Webhooks } from './webhooks/webhooks.tsx';

const LISTS: Record<string, ComponentType> = {
  '': Overview,
  'for-you': ForYou,
  submit: Submit,
  tasks: Tasks,
  'dead-letters': DeadLetters,
  graphs: Graphs,
  turns: Turns,
  schedules: Schedules,
  agents: Agents,
  queues: Queues,
  map: MapPage,
  webhooks: Webhooks,
  events: Events,
  violations: Violations,
};
const DETAILS: Record<string, ComponentType<{ id: string }>> = {
  tasks: TaskPage,
  graphs: GraphPage,
  batches: BatchPage,
  turns: TurnPage,
  schedules: SchedulePage,
  webhooks: WebhookPage,
  agents: AgentPage,
};

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
