import { call } from '../../api/call.ts';
import { toText } from '../../model/format.ts';
import { usePaged } from '../../state/pages.ts';
import { href, params, setParams } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Badge, Button, Empty, Id, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { attempt } from '../../ui/toast.tsx';

interface Violation {
  id: string;
  at: string;
  law: string;
  code: string;
  severity: string;
  action: string;
  detail: string;
  agent: string;
  taskId?: string;
}

interface Gap {
  id: string;
  type: string;
  from: string;
  to: string;
  status: string;
  priority: string;
  openedAt: string;
  content?: unknown;
}

export const Violations = () => {
  const isGaps = params.value.get('kind') === 'gaps';
  return (
    <Page
      title="Violations and gaps"
      name="Violations and gaps"
      lead="Messages that broke a law of their protocol, and knowledge that agents miss."
    >
      <div>
        <Tabs
          label="Kind"
          options={[
            ['violations', 'Violations'],
            ['gaps', 'Gaps'],
          ]}
          value={isGaps ? 'gaps' : 'violations'}
          onChange={(value) => setParams({ kind: value === 'gaps' ? value : '' })}
        />
      </div>
      {isGaps ? <Gaps /> : <ViolationTable />}
    </Page>
  );
};

const ViolationTable = () => (
  <Table
    from={usePaged<Violation>('v1/violations', 'violations', {}, ({ type }) =>
      /^message\.(blocked|rejected)/.test(type),
    )}
    keyOf={({ id }) => id}
    columns={[
      { label: 'Law', show: ({ law }) => <span class="strong">{law}</span> },
      {
        label: 'Severity',
        show: ({ severity }) => <Badge tone={/critical|high|error/.test(severity) ? 'bad' : 'warn'}>{severity}</Badge>,
      },
      { label: 'Reaction', show: ({ action }) => action },
      { label: 'Agent', show: ({ agent }) => <a href={href(['agents', agent])}>{agent}</a> },
      { label: 'Detail', show: ({ detail }) => detail },
      { label: 'Task', show: ({ taskId }) => taskId && <Id id={taskId} to={href(['tasks', taskId])} /> },
      { label: 'When', isNumber: true, show: ({ at }) => <Time at={at} /> },
    ]}
    empty={
      <Empty title="No violations">
        Messages that break a law of their protocol are listed here, with what Parley did.
      </Empty>
    }
  />
);

const Gaps = () => {
  const gaps = usePaged<Gap>('v1/gaps', 'gaps', {}, ({ type }) => type.startsWith('message.'));
  const close = async ({ from, id }: Gap): Promise<void> => {
    await attempt('Closed', () => call('POST', `v1/gaps/${encodeURIComponent(from)}/${encodeURIComponent(id)}/close`));
    gaps.reload();
  };
  return (
    <Table
      from={gaps}
      keyOf={({ from, id }) => `${from} ${id}`}
      columns={[
        {
          label: 'What is missing',
          show: ({ content, type }) => <span class="strong">{content === undefined ? type : toText(content)}</span>,
        },
        { label: 'Reported by', show: ({ from }) => <a href={href(['agents', from])}>{from}</a> },
        { label: 'To', show: ({ to }) => to },
        { label: 'Priority', show: ({ priority }) => priority },
        { label: 'Since', isNumber: true, show: ({ openedAt }) => <Time at={openedAt} /> },
        ...(canOperate.value
          ? [{ label: 'Action', show: (gap: Gap) => <Button onClick={() => close(gap)}>Close</Button> }]
          : []),
      ]}
      empty={<Empty title="No open gaps">AgentOS agents report here what they would need to know.</Empty>}
    />
  );
};
