import { formatDuration } from '../../model/format.ts';
import { usePaged } from '../../state/pages.ts';
import { href, params, setParams } from '../../state/router.ts';
import { Badge, Empty, Id, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { EventTabs } from './event-tabs.tsx';

interface Entry {
  messageId: string;
  timestamp: string;
  direction: 'sent' | 'received';
  fromAgent: string;
  toAgent?: string;
  type: string;
  status: 'success' | 'error' | 'timeout';
  latencyMs: number;
  taskId?: string;
}

const STATUSES = ['success', 'error', 'timeout'];

/** Who sent what to whom: the audit log, of the dialects that have one. */
export const MessageLog = () => {
  const [agent, type, status] = ['agent', 'type', 'status'].map((name) => params.value.get(name) ?? undefined);
  const entries = usePaged<Entry>('v1/audit-log', 'entries', { agent, type, status }, ({ type: event }) =>
    /^(task|message)\./.test(event),
  );
  return (
    <Page title="Events" name="Message log" lead="Who sent what to whom, and how it went, the newest first.">
      <EventTabs />
      <search class="filter-line">
        <select
          aria-label="Outcome"
          value={status ?? ''}
          onChange={(event) => setParams({ status: event.currentTarget.value })}
        >
          <option value="">Any outcome</option>
          {STATUSES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          class="grow"
          aria-label="Agent"
          placeholder="Agent"
          value={agent ?? ''}
          onChange={(event) => setParams({ agent: event.currentTarget.value.trim() })}
        />
        <input
          class="grow"
          aria-label="Type"
          placeholder="Type, such as query"
          value={type ?? ''}
          onChange={(event) => setParams({ type: event.currentTarget.value.trim() })}
        />
      </search>
      <Table
        from={entries}
        keyOf={({ messageId, direction, toAgent, timestamp }) => `${messageId} ${direction} ${toAgent} ${timestamp}`}
        columns={[
          {
            label: 'Outcome',
            show: (one) => <Badge tone={one.status === 'success' ? 'good' : 'bad'}>{one.status}</Badge>,
          },
          { label: 'Type', show: (one) => <span class="strong">{one.type}</span> },
          {
            label: 'From and to',
            show: ({ fromAgent, toAgent }) => (
              <>
                <a href={href(['agents', fromAgent])}>{fromAgent}</a>
                {toAgent !== undefined && (
                  <>
                    {' → '}
                    <a href={href(['agents', toAgent])}>{toAgent}</a>
                  </>
                )}
              </>
            ),
          },
          { label: 'Direction', show: ({ direction }) => <span class="muted">{direction}</span> },
          { label: 'Task', show: ({ taskId }) => taskId && <Id id={taskId} to={href(['tasks', taskId])} /> },
          { label: 'Took', isNumber: true, show: ({ latencyMs }) => formatDuration(latencyMs) },
          { label: 'When', isNumber: true, show: ({ timestamp }) => <Time at={timestamp} /> },
        ]}
        empty={
          <Empty title="No message is logged" icon="events">
            Messages of protocols with an audit log, such as AgentOS, are listed here. The configuration{' '}
            <code>auditLog</code> adds others.
          </Empty>
        }
      />
    </Page>
  );
};
