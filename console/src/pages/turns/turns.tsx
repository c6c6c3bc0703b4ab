import { usePaged } from '../../state/pages.ts';
import { href, params, setParams } from '../../state/router.ts';
import { Empty, Id, StateBadge, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';

interface TurnSummary {
  agent_turn_id: string;
  agent_id: string;
  status: string;
  channel_id?: string;
  from?: string;
  enqueued_at: string;
  error?: string;
}

const STATES = [
  ['', 'All'],
  ['queued,leased', 'Open'],
  ['success', 'Success'],
  ['failed,timeout', 'Failed'],
  ['canceled', 'Cancelled'],
] as const;

export const Turns = () => {
  const status = params.value.get('status') ?? '';
  const turns = usePaged<TurnSummary>('v1/turns', 'turns', { status }, ({ type }) =>
    /^(evt\.agent|cmd\.agent)/.test(type),
  );
  return (
    <Page title="Turns" name="Turns" lead="Calls of CommonGround agents, each under an epoch.">
      <div>
        <Tabs label="State" options={STATES} value={status} onChange={(value) => setParams({ status: value })} />
      </div>
      <Table
        from={turns}
        keyOf={(turn) => turn.agent_turn_id}
        columns={[
          { label: 'State', show: (turn) => <StateBadge state={turn.status} /> },
          { label: 'Turn', show: (turn) => <Id id={turn.agent_turn_id} to={href(['turns', turn.agent_turn_id])} /> },
          { label: 'Agent', show: (turn) => <a href={href(['agents', turn.agent_id])}>{turn.agent_id}</a> },
          { label: 'From', show: (turn) => turn.from ?? '–' },
          { label: 'Channel', show: (turn) => turn.channel_id ?? '–' },
          { label: 'Queued', isNumber: true, show: (turn) => <Time at={turn.enqueued_at} /> },
        ]}
        empty={
          <Empty title="No turns yet" icon="turn">
            CommonGround agents work in turns. POST /v1/turns calls one.
          </Empty>
        }
      />
    </Page>
  );
};
