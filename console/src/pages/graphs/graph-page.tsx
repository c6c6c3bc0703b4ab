import { call, get } from '../../api/call.ts';
import type { TaskError } from '../../api/types.ts';
import { formatDuration, shorten } from '../../model/format.ts';
import { toLabel, toTone } from '../../model/task-state.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Id, StateBadge, Time } from '../../ui/basics.tsx';
import { Dag } from '../../ui/dag.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { attempt } from '../../ui/toast.tsx';

interface Node {
  taskId: string;
  agent?: string;
  capability?: string;
  dependencies: string[];
  status?: string;
  state?: string;
  error?: TaskError;
  metadata?: { agent?: string; duration_ms?: number };
  progress?: { percent?: number };
}

interface Graph {
  graphId: string;
  conversationId?: string;
  status: string;
  nodes: Node[];
  edges: { from: string; to: string }[];
  createdAt: string;
  endedAt?: string;
  cancelledBy?: string;
}

export const GraphPage = ({ id }: { id: string }) => {
  const loaded = useResource(`graph ${id}`, (abort) => get<Graph>(`v1/graphs/${encodeURIComponent(id)}`, {}, abort), {
    when: ({ type, data }, graph) =>
      data.graphId === id ||
      (type.startsWith('task.') && graph?.nodes.some(({ taskId }) => taskId === data.taskId) === true),
    restMs: 500,
  });
  return <Loaded from={loaded}>{(found) => <Found graph={found} reload={loaded.reload} />}</Loaded>;
};

const NodeBox = ({ node }: { node: Node }) => (
  <a href={href(['tasks', node.taskId])} title={node.error && `${node.error.code}: ${node.error.message}`}>
    <span class="strong">{node.capability ?? shorten(node.taskId)}</span>
    <span class="muted small">
      {node.error ? node.error.code : toLabel(node.state ?? 'waiting')}
      {node.progress?.percent !== undefined && node.state === 'in_progress' && ` · ${node.progress.percent} %`}
      {node.metadata?.agent && ` · ${node.metadata.agent}`}
      {node.metadata?.duration_ms !== undefined && ` · ${formatDuration(node.metadata.duration_ms)}`}
    </span>
  </a>
);

const Found = ({ graph, reload }: { graph: Graph; reload: () => void }) => {
  const ended = graph.nodes.filter(({ state }) =>
    ['completed', 'failed', 'expired', 'cancelled'].includes(state ?? ''),
  );
  const states = new Map(graph.nodes.map(({ taskId, state = 'waiting' }) => [taskId, state]));
  const cancel = async (): Promise<void> => {
    await attempt('Cancelled', () => call('POST', `v1/graphs/${encodeURIComponent(graph.graphId)}/cancel`));
    reload();
  };
  return (
    <Page
      name="Graph"
      title={
        <>
          Graph <StateBadge state={graph.status} />
        </>
      }
      lead={<Id id={graph.graphId} isLong />}
      actions={
        canOperate.value &&
        graph.status === 'in_progress' && (
          <Button kind="danger" icon="cross" onClick={cancel}>
            Cancel open nodes
          </Button>
        )
      }
    >
      <Card title={`${ended.length} of ${graph.nodes.length} ended`}>
        <Dag
          label="The nodes of the graph, from left to right"
          nodes={graph.nodes.map((node) => ({
            id: node.taskId,
            tone: toTone(node.state ?? 'waiting'),
            content: <NodeBox node={node} />,
          }))}
          edges={graph.edges.map((edge) => ({ ...edge, tone: states.get(edge.from) === 'completed' ? 'good' : '' }))}
          nodeWidth={230}
        />
      </Card>
      <Card>
        <Facts
          rows={[
            ['Created', <Time key="c" at={graph.createdAt} />],
            ['Ended', graph.endedAt && <Time at={graph.endedAt} />],
            ['Took', graph.endedAt && formatDuration(Date.parse(graph.endedAt) - Date.parse(graph.createdAt))],
            ['Cancelled by', graph.cancelledBy],
            [
              'Conversation',
              graph.conversationId && (
                <Id id={graph.conversationId} to={href(['tasks'], { conversation: graph.conversationId })} />
              ),
            ],
          ]}
        />
      </Card>
    </Page>
  );
};
