import { callRaw, get } from '../../api/call.ts';
import type { Artifact, Task } from '../../api/types.ts';
import { formatBytes } from '../../model/format.ts';
import { isOpenState } from '../../model/task-state.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { AnswerForm } from '../../ui/answer-form.tsx';
import { Button, Empty, Id, StateBadge, Time } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { attempt } from '../../ui/toast.tsx';
import { Priority } from '../tasks/task-row.tsx';
import { AsCode } from './as-code.tsx';
import { Messages } from './messages.tsx';
import { Relations } from './relations.tsx';
import { TaskActions } from './task-actions.tsx';
import { TimelineList } from './timeline-list.tsx';
import { TimelinePicture } from './timeline-picture.tsx';

export const TaskPage = ({ id }: { id: string }) => {
  const task = useResource(`task ${id}`, (abort) => get<Task>(`v1/tasks/${encodeURIComponent(id)}`, {}, abort), {
    when: ({ data }) => data.taskId === id,
    restMs: 300,
  });
  if (task.problem.value?.status === 404) {
    return (
      <Page title="No such task" name="No such task">
        <Empty title="Parley knows no task with this id" icon="search">
          It may have been deleted at the end of its retention, or belong to others.{' '}
          <a href={href(['tasks'])}>All tasks</a>
        </Empty>
      </Page>
    );
  }
  return <Loaded from={task}>{(found) => <Found task={found} reload={task.reload} />}</Loaded>;
};

const Found = ({ task, reload }: { task: Task; reload: () => void }) => (
  <Page
    name={`${task.type} ${task.id.slice(0, 8)}`}
    title={
      <>
        {task.type} <StateBadge state={task.state} />
      </>
    }
    lead={<Id id={task.id} isLong />}
    actions={<TaskActions task={task} onChange={reload} />}
  >
    {task.state === 'input_required' && (
      <Card title={`${task.metadata.agent ?? 'Its holder'} asks ${task.from}`} class="warn">
        <AnswerForm key={JSON.stringify(task.input)} task={task} onAnswer={reload} />
      </Card>
    )}
    {(task.error ?? task.lastError) && <ErrorCard task={task} />}
    <div class="columns">
      <div class="stack">
        <Card
          title="Timeline"
          aside={isOpenState(task.state) && task.progress?.percent !== undefined && <Progress task={task} />}
        >
          <TimelinePicture task={task} />
          <TimelineList task={task} />
        </Card>
        <Relations task={task} />
        <div class="pair">
          <Card title="Input">
            <JsonView value={task.payload ?? {}} label="the input" />
          </Card>
          <Card title="Output">
            {task.result !== undefined && task.result !== null ? (
              <JsonView value={task.result} label="the output" />
            ) : (
              <p class="muted">{isOpenState(task.state) ? 'Not yet: the task is open.' : 'None.'}</p>
            )}
          </Card>
        </div>
        {task.artifacts && task.artifacts.length > 0 && <Artifacts task={task} artifacts={task.artifacts} />}
        <Messages task={task} />
        <AsCode task={task} />
      </div>
      <Side task={task} />
    </div>
  </Page>
);

const Progress = ({ task }: { task: Task }) => (
  <span class="progress">
    <span class="bar">
      <span style={{ width: `${task.progress?.percent}%` }} />
    </span>
    {task.progress?.percent} % {task.progress?.message}
  </span>
);

const ErrorCard = ({ task }: { task: Task }) => {
  const error = task.error ?? task.lastError;
  if (!error) return null;
  return (
    <div class={`note ${task.error ? 'bad' : 'warn'}`}>
      <Icon name="dead" />
      <div>
        <p>
          <code>{error.code}</code> {error.message}
        </p>
        {task.lastError && (
          <p class="small">
            The last attempt ended so.{' '}
            {task.retryAt && (
              <>
                The next one begins <Time at={task.retryAt} />.
              </>
            )}
          </p>
        )}
        {error.details !== undefined && <JsonView value={error.details} label="the details" />}
      </div>
    </div>
  );
};

const AgentLink = ({ id }: { id: string | undefined }) =>
  id === undefined ? null : <a href={href(['agents', id])}>{id}</a>;

const LimitWait = ({ block }: { block: NonNullable<Task['waitsForLimit']> }) => (
  <>
    the limit <a href={href(['queues'])}>{block.key}</a>
    {block.reason === 'concurrency' ? `: ${block.running} of ${block.concurrency} run` : ', next '}
    {block.nextStartAt && <Time at={block.nextStartAt} />}
  </>
);

const Side = ({ task }: { task: Task }) => (
  <Card class="side">
    <Facts
      rows={[
        ['Requester', <AgentLink key="a" id={task.from} />],
        ['Addressed to', task.to && <AgentLink id={task.to} />],
        ['Holder', task.metadata.agent && <AgentLink id={task.metadata.agent} />],
        ['Priority', <Priority key="p" priority={task.priority} />],
        ['Attempt', `${task.attempt} of ${task.maxAttempts}`],
        ['Created', <Time key="t" at={task.createdAt} />],
        ['Claimed', task.metadata.startedAt && <Time at={task.metadata.startedAt} />],
        ['Ended', task.metadata.completedAt && <Time at={task.metadata.completedAt} />],
        ['Lease until', task.lease && <Time at={task.lease.until} />],
        ['Expires', task.expiresAt && <Time at={task.expiresAt} />],
        ['Waits for', task.waitsForLimit && <LimitWait block={task.waitsForLimit} />],
        ['Next attempt', task.retryAt && isOpenState(task.state) && <Time at={task.retryAt} />],
        ['Cancelled by', task.cancelledBy],
        ['Protocol', task.dialect],
        ['Domain', task.domain && <a href={href(['tasks'], { domain: task.domain })}>{task.domain}</a>],
        [
          'Conversation',
          task.conversationId && (
            <Id id={task.conversationId} to={href(['tasks'], { conversation: task.conversationId })} />
          ),
        ],
        ['Parent', task.parentTaskId && <Id id={task.parentTaskId} to={href(['tasks', task.parentTaskId])} />],
        ['Graph', task.graphId && <Id id={task.graphId} to={href(['graphs', task.graphId])} />],
        ['User', task.user],
        ['Trace', <Id key="trace" id={task.traceparent.split('-')[1] ?? task.traceparent} />],
      ]}
    />
  </Card>
);

const Artifacts = ({ task, artifacts }: { task: Task; artifacts: Artifact[] }) => {
  const download = async (name: string): Promise<void> => {
    await attempt(undefined, async () => {
      const response = await callRaw(
        'GET',
        `v1/tasks/${encodeURIComponent(task.id)}/artifacts/${encodeURIComponent(name)}`,
      );
      const link = document.createElement('a');
      link.href = URL.createObjectURL(await response.blob());
      link.download = name;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  };
  return (
    <Card title="Artifacts" isFlush>
      <ul class="lines">
        {artifacts.map(({ name, type, size }) => (
          <li key={name}>
            <Icon name="file" />
            <span class="grow">{name}</span>
            <span class="muted">{type}</span>
            {size !== undefined && <span class="muted num">{formatBytes(size)}</span>}
            <Button onClick={() => download(name)}>Download</Button>
          </li>
        ))}
      </ul>
    </Card>
  );
};
