import { get } from '../../api/call.ts';
import type { Agent, BoundedCount, Queue, Task } from '../../api/types.ts';
import { formatAge, formatBounded, plural } from '../../model/format.ts';
import { now } from '../../state/clock.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { Empty, Time } from '../../ui/basics.tsx';
import { Card, Loaded, Page } from '../../ui/page.tsx';
import { AgentState, isTroubled, toAgentTone } from '../agents/agent-state.tsx';
import { QueueTable } from '../queues/queue-rows.tsx';
import { Activity } from './activity.tsx';
import { Tile } from './tiles.tsx';

const EVERY_MS = 5000;

interface Counts {
  queued: BoundedCount | undefined;
  running: BoundedCount | undefined;
  asking: BoundedCount | undefined;
  retrying: BoundedCount | undefined;
  dead: BoundedCount | undefined;
  oldest: string | undefined;
  questions: Task[];
  recentlyDead: Task[];
}

const loadCounts = async (abort: AbortSignal): Promise<Counts> => {
  const list = (query: Record<string, string | number>) =>
    get<{ tasks: Task[]; count?: BoundedCount }>('v1/tasks', { count: 'true', limit: 1, ...query }, abort);
  const [queued, running, asking, retrying, dead, { queues }] = await Promise.all([
    list({ status: 'waiting,requested' }),
    list({ status: 'claimed,in_progress' }),
    list({ status: 'input_required', limit: 5 }),
    list({ retrying: 'true' }),
    list({ status: 'failed,expired', limit: 5 }),
    get<{ queues: Queue[] }>('v1/queues', { limit: 100 }, abort),
  ]);
  return {
    queued: queued.count,
    running: running.count,
    asking: asking.count,
    retrying: retrying.count,
    dead: dead.count,
    oldest: queues.flatMap(({ oldestWaitingSince }) => oldestWaitingSince ?? []).toSorted()[0],
    questions: asking.tasks,
    recentlyDead: dead.tasks,
  };
};

export const Overview = () => {
  const live = { when: ({ type }: { type: string }) => /^(task|agent)\./.test(type), everyMs: EVERY_MS, restMs: 2000 };
  const counts = useResource('overview', loadCounts, live);
  const queues = useResource('queues', (abort) => get<{ queues: Queue[] }>('v1/queues', { limit: 100 }, abort), live);
  const agents = useResource('agents', (abort) => get<{ agents: Agent[] }>('v1/agents', { limit: 100 }, abort), {
    when: ({ type }) => type.startsWith('agent.'),
    everyMs: EVERY_MS,
  });
  return (
    <Page title="Overview" name="Overview">
      <Loaded from={counts}>{(data) => <Tiles counts={data} agents={agents.data.value?.agents ?? []} />}</Loaded>
      <Activity />
      <div class="columns uneven">
        <Card title="Queues" aside={<a href={href(['queues'])}>All queues</a>} isFlush>
          <Loaded from={queues}>
            {({ queues: found }) => {
              const busy = found.filter(({ waiting, inFlight }) => waiting.value + inFlight.value > 0);
              const shown = busy.toSorted((a, b) => b.waiting.value - a.waiting.value).slice(0, 8);
              return shown.length > 0 ? (
                <QueueTable queues={shown} isBrief />
              ) : (
                <Empty title="Nothing waits, and nobody is at work" />
              );
            }}
          </Loaded>
        </Card>
        <Card title="Agents" aside={<a href={href(['agents'])}>All agents</a>} isFlush>
          <Loaded from={agents}>{({ agents: found }) => <AgentLines agents={found} />}</Loaded>
        </Card>
      </div>
      {counts.data.value && <Attention counts={counts.data.value} />}
    </Page>
  );
};

const Tiles = ({ counts, agents }: { counts: Counts; agents: Agent[] }) => {
  const troubled = agents.filter(isTroubled).length;
  const active = agents.filter((agent) => toAgentTone(agent) === 'good').length;
  const isLate = counts.oldest !== undefined && now.value - Date.parse(counts.oldest) > 60_000;
  return (
    <div class="tiles">
      <Tile
        label="Queued"
        value={formatBounded(counts.queued)}
        tone={isLate ? 'warn' : 'idle'}
        note={counts.oldest === undefined ? 'none waits' : `oldest ${formatAge(now.value - Date.parse(counts.oldest))}`}
        to={href(['tasks'], { status: 'waiting,requested' })}
      />
      <Tile
        label="Running"
        value={formatBounded(counts.running)}
        tone={counts.running?.value ? 'busy' : 'idle'}
        note="under a lease"
        to={href(['tasks'], { status: 'claimed,in_progress' })}
      />
      <Tile
        label="For you"
        value={formatBounded(counts.asking)}
        tone={counts.asking?.value ? 'warn' : 'idle'}
        note="for an answer"
        to={href(['for-you'])}
      />
      <Tile
        label="Retrying"
        value={formatBounded(counts.retrying)}
        tone={counts.retrying?.value ? 'warn' : 'idle'}
        note="after a failure"
        to={href(['tasks'], { retrying: 'true' })}
      />
      <Tile
        label="Dead letters"
        value={formatBounded(counts.dead)}
        tone={counts.dead?.value ? 'bad' : 'good'}
        note="failed for good"
        to={href(['dead-letters'])}
      />
      <Tile
        label="Agents"
        value={agents.length}
        tone={troubled > 0 ? 'bad' : 'good'}
        note={troubled > 0 ? `${troubled} offline` : `${active} active`}
        to={href(['agents'])}
      />
    </div>
  );
};

const MAX_LINES = 8;

const AgentLines = ({ agents }: { agents: Agent[] }) => {
  if (agents.length === 0) {
    return (
      <Empty title="No agents yet" icon="agent">
        <a href={href(['agents'], { register: 'true' })}>Register one</a> to give it work.
      </Empty>
    );
  }
  const sorted = agents.toSorted(
    (a, b) =>
      Number(isTroubled(b)) - Number(isTroubled(a)) || (b.health.lastSeen ?? '').localeCompare(a.health.lastSeen ?? ''),
  );
  return (
    <ul class="lines">
      {sorted.slice(0, MAX_LINES).map((agent) => (
        <li key={agent.id}>
          <AgentState agent={agent} />
          <a class="strong grow clip" href={href(['agents', agent.id])}>
            {agent.id}
          </a>
          <span class="muted">{agent.dialect}</span>
          {agent.health.activeTaskCount !== undefined && (
            <span class="muted num">{plural(agent.health.activeTaskCount, 'task')}</span>
          )}
          <span class="muted num">
            <Time at={agent.health.lastSeen} />
          </span>
        </li>
      ))}
    </ul>
  );
};

const Attention = ({ counts: { questions, recentlyDead } }: { counts: Counts }) => (
  <div class="columns even">
    <Card title="Waits for a person" aside={<a href={href(['for-you'])}>Answer</a>} isFlush>
      {questions.length === 0 ? (
        <Empty title="Nobody waits for you" />
      ) : (
        <ul class="lines">
          {questions.map((task) => (
            <li key={task.id}>
              <a class="grow clip" href={href(['tasks', task.id])}>
                {task.input?.prompt ?? task.type}
              </a>
              <span class="muted">{task.metadata.agent}</span>
              <span class="muted num">
                <Time at={task.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
    <Card title="Failed for good" aside={<a href={href(['dead-letters'])}>Dead letters</a>} isFlush>
      {recentlyDead.length === 0 ? (
        <Empty title="No dead letters" />
      ) : (
        <ul class="lines">
          {recentlyDead.map((task) => (
            <li key={task.id}>
              <code class="bad-text">{task.error?.code ?? task.state}</code>
              <a class="grow clip" href={href(['tasks', task.id])}>
                {task.type}
              </a>
              <span class="muted num">
                <Time at={task.metadata.completedAt ?? task.createdAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  </div>
);
