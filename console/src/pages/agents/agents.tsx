import type { Agent } from '../../api/types.ts';
import { usePaged } from '../../state/pages.ts';
import { href, params, setParams } from '../../state/router.ts';
import { canAdminister } from '../../state/session.ts';
import { Button, Empty, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { AgentState } from './agent-state.tsx';
import { RegisterDialog } from './register-dialog.tsx';

const MAX_NAMES = 3;

const Names = ({ names }: { names: string[] }) => (
  <span title={names.join('\n')}>
    {names.slice(0, MAX_NAMES).join(', ')}
    {names.length > MAX_NAMES && <span class="muted"> +{names.length - MAX_NAMES}</span>}
    {names.length === 0 && <span class="muted">–</span>}
  </span>
);

export const Agents = () => {
  const agents = usePaged<Agent>('v1/agents', 'agents', {}, ({ type }) => type.startsWith('agent.'));
  const isRegistering = params.value.get('register') === 'true';
  return (
    <Page
      title="Agents"
      name="Agents"
      actions={
        canAdminister.value && (
          <Button kind="primary" icon="plus" onClick={() => setParams({ register: 'true' })}>
            Register an agent
          </Button>
        )
      }
    >
      <Table
        from={agents}
        keyOf={({ id }) => id}
        columns={[
          { label: 'State', show: (agent) => <AgentState agent={agent} /> },
          {
            label: 'Agent',
            show: ({ id, role }) => (
              <>
                <a class="strong" href={href(['agents', id])}>
                  {id}
                </a>{' '}
                {role && <span class="muted">{role}</span>}
              </>
            ),
          },
          {
            label: 'Protocol',
            show: ({ dialect, profile }) => (
              <>
                {dialect} <span class="muted">{profile}</span>
              </>
            ),
          },
          { label: 'Over', show: ({ transport }) => transport },
          {
            label: 'Does',
            show: ({ capabilities = [], domains }) => (
              <Names names={[...capabilities, ...domains.map((name) => `${name}.*`)]} />
            ),
          },
          { label: 'Seen', isNumber: true, show: ({ health }) => <Time at={health.lastSeen} /> },
        ]}
        empty={
          <Empty title="No agents yet" icon="agent">
            An agent is whoever gives or takes work. Register one, and get a worker to paste.
          </Empty>
        }
      />
      {isRegistering && (
        <RegisterDialog
          onClose={() => {
            setParams({ register: '' });
            agents.reload();
          }}
        />
      )}
    </Page>
  );
};
