import { useSignal } from '@preact/signals';
import { call, get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Agent, BoundedCount, Task } from '../../api/types.ts';
import { formatBounded, formatDuration } from '../../model/format.ts';
import { usePaged } from '../../state/pages.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Badge, Button, Empty, Id, StateBadge, Time } from '../../ui/basics.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { attempt } from '../../ui/toast.tsx';
import { AgentKeys } from './agent-keys.tsx';
import { AgentState } from './agent-state.tsx';

interface DetailedAgent extends Agent {
  activity?: { instances: { id: string; lastSeen: string }[]; held: BoundedCount; inbox: BoundedCount };
}

export const AgentPage = ({ id }: { id: string }) => {
  const agent = useResource(
    `agent ${id}`,
    (abort) => get<DetailedAgent>(`v1/agents/${encodeURIComponent(id)}`, {}, abort),
    {
      when: ({ type, data }) => type.startsWith('agent.') || data.agent === id,
      restMs: 2000,
    },
  );
  if (agent.problem.value?.status === 404) {
    return (
      <Page title="No such agent" name="No such agent">
        <Empty title={`No agent ${id} is registered`} icon="agent">
          <a href={href(['agents'])}>All agents</a>
        </Empty>
      </Page>
    );
  }
  return <Loaded from={agent}>{(found) => <Found agent={found} reload={agent.reload} />}</Loaded>;
};

const Controls = ({ agent, reload }: { agent: Agent; reload: () => void }) => {
  if (!canOperate.value) return null;
  const control = async (action: string, done: string): Promise<void> => {
    const answer = await attempt(undefined, () =>
      call('POST', `v1/agents/${encodeURIComponent(agent.id)}/${action}`, { body: {} }),
    );
    if (!(answer instanceof Problem)) await attempt(done, async () => reload());
  };
  return agent.paused ? (
    <Button kind="primary" icon="play" onClick={() => control('resume', `${agent.id} gets work again`)}>
      Resume
    </Button>
  ) : (
    <>
      <Button
        icon="pause"
        onClick={() => control('pause', `${agent.id} gets no new work`)}
        title="It keeps its tasks and gets no new ones"
      >
        Pause
      </Button>
      <Button
        icon="out"
        onClick={() => control('drain', `${agent.id} ends what it has`)}
        title="It ends what it has, and gets no new tasks"
      >
        Drain
      </Button>
    </>
  );
};

const Found = ({ agent, reload }: { agent: DetailedAgent; reload: () => void }) => {
  const { health, activity } = agent;
  const chosen = useSignal<string | undefined>(undefined);
  const held = usePaged<Task>(
    'v1/tasks',
    'tasks',
    { holder: agent.id, status: 'claimed,in_progress,input_required' },
    ({ data }) => data.agent === agent.id,
  );
  const names = [...(agent.capabilities ?? []), ...agent.domains.map((domain) => `${domain}.*`)];
  const schemas = chosen.value === undefined ? undefined : agent.schemas?.[chosen.value];
  return (
    <Page
      name={agent.id}
      title={
        <>
          {agent.id} <AgentState agent={agent} />
        </>
      }
      lead={`${agent.dialect}${agent.profile ? ` as ${agent.profile}` : ''} over ${agent.transport}`}
      actions={<Controls agent={agent} reload={reload} />}
    >
      <div class="columns">
        <div class="stack">
          <Table
            from={held}
            keyOf={({ id }) => id}
            columns={[
              { label: 'It holds', show: ({ state }) => <StateBadge state={state} /> },
              {
                label: 'Task',
                show: ({ id, type }) => (
                  <a class="strong" href={href(['tasks', id])}>
                    {type}
                  </a>
                ),
              },
              { label: 'Id', show: ({ id }) => <Id id={id} to={href(['tasks', id])} /> },
              { label: 'For', show: ({ from }) => from },
              { label: 'Lease until', isNumber: true, show: ({ lease }) => <Time at={lease?.until} /> },
            ]}
            empty={
              <Empty title="It holds no task" icon="tasks">
                <a href={href(['tasks'], { agent: agent.id })}>All tasks that concern it</a>
              </Empty>
            }
          />
          <Card title="What it can do">
            {names.length === 0 ? (
              <p class="muted">It has declared no capabilities: it gives work and takes none.</p>
            ) : (
              <p class="chips">
                {names.map((name) => (
                  <button
                    key={name}
                    type="button"
                    class="chip"
                    aria-pressed={chosen.value === name}
                    onClick={() => (chosen.value = chosen.value === name ? undefined : name)}
                  >
                    {name}
                    {agent.schemas?.[name] && <Badge tone="idle">schema</Badge>}
                  </button>
                ))}
              </p>
            )}
            {chosen.value !== undefined && (
              <div class="below">
                {schemas ? (
                  <JsonView value={schemas} label="the schemas" />
                ) : (
                  <p class="muted">It has given no schema for {chosen.value}.</p>
                )}
                <a href={href(['submit'], { capability: chosen.value, to: agent.id })}>Give it such a task</a>
              </div>
            )}
          </Card>
          <AgentKeys agent={agent.id} capability={agent.capabilities?.[0]} />
        </div>
        <Card class="side">
          <Facts
            rows={[
              ['Seen', <Time key="s" at={health.lastSeen} />],
              ['Status', health.status],
              ['Says', health.statusReport?.status],
              ['Holds', activity && formatBounded(activity.held)],
              ['Inbox', activity && formatBounded(activity.inbox)],
              [
                'Instances',
                activity && activity.instances.length > 0 && activity.instances.map(({ id }) => id).join(', '),
              ],
              ['Tasks, it says', health.activeTaskCount !== undefined && String(health.activeTaskCount)],
              ['Up', health.uptime !== undefined && formatDuration(health.uptime * 1000)],
              ['Model', health.model],
              ['Version', health.version],
              ['Processor', health.cpuUsage !== undefined && `${Math.round(health.cpuUsage * 100)} %`],
              ['Memory', health.memoryMb !== undefined && `${health.memoryMb} MB`],
              ['Role', agent.role],
              ['Signing', agent.signing],
              ['Channels', agent.channels?.join(', ')],
              ['Evicted', agent.inboxState && String(agent.inboxState.evicted)],
              ['Registered', <Time key="r" at={agent.registeredAt} />],
              ['Paused', agent.paused && <Badge tone="warn">{String(agent.paused.reason ?? 'yes')}</Badge>],
            ]}
          />
        </Card>
      </div>
    </Page>
  );
};
