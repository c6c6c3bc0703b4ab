import { formatDuration } from '../../model/format.ts';
import { usePaged } from '../../state/pages.ts';
import { href, params, setParams } from '../../state/router.ts';
import { Empty, Id, StateBadge, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';

interface Summary {
  graphId?: string;
  batchId?: string;
  status: string;
  from?: string;
  nodes?: number;
  tasks?: number;
  createdAt: string;
  endedAt?: string;
}

const Took = ({ of: { createdAt, endedAt } }: { of: Summary }) => (
  <>{endedAt === undefined ? '–' : formatDuration(Date.parse(endedAt) - Date.parse(createdAt))}</>
);

const toColumns = (kind: 'graphs' | 'batches'): Column<Summary>[] => [
  { label: 'State', show: ({ status }) => <StateBadge state={status} /> },
  {
    label: kind === 'graphs' ? 'Graph' : 'Batch',
    show: ({ graphId, batchId }) => {
      const id = graphId ?? batchId ?? '';
      return <Id id={id} to={href([kind, id])} />;
    },
  },
  { label: 'Requester', show: ({ from }) => from ?? '–' },
  { label: 'Tasks', isNumber: true, show: ({ nodes, tasks }) => nodes ?? tasks ?? '–' },
  { label: 'Took', isNumber: true, show: (one) => <Took of={one} /> },
  { label: 'Created', isNumber: true, show: ({ createdAt }) => <Time at={createdAt} /> },
];

export const Graphs = () => {
  const kind = params.value.get('kind') === 'batches' ? 'batches' : 'graphs';
  const found = usePaged<Summary>(`v1/${kind}`, kind, {}, ({ type }) => /^(graph|batch)\./.test(type));
  return (
    <Page title="Graphs and batches" name="Graphs and batches" lead="Many tasks, requested as one.">
      <div>
        <Tabs
          label="Kind"
          options={[
            ['graphs', 'Graphs'],
            ['batches', 'Batches'],
          ]}
          value={kind}
          onChange={(value) => setParams({ kind: value === 'graphs' ? '' : value })}
        />
      </div>
      <Table
        from={found}
        columns={toColumns(kind)}
        keyOf={({ graphId, batchId }) => graphId ?? batchId ?? ''}
        empty={
          <Empty title={`No ${kind} yet`} icon="graph">
            {kind === 'graphs'
              ? 'POST /v1/graphs requests tasks that depend on each other.'
              : 'POST /v1/batches requests many tasks with one result.'}
          </Empty>
        }
      />
    </Page>
  );
};
