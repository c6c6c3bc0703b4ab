import { call } from '../../api/call.ts';
import type { BoundedCount } from '../../api/types.ts';
import { formatBounded, formatCount } from '../../model/format.ts';
import { usePaged } from '../../state/pages.ts';
import { href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Empty, StateBadge, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { attempt } from '../../ui/toast.tsx';
import { EventTabs } from './event-tabs.tsx';

interface Operation {
  operationId: string;
  kind: 'cancel' | 'retry';
  status: string;
  filter: Record<string, unknown>;
  reason?: string;
  by: string;
  expected: BoundedCount;
  changed: number;
  skipped: number;
  failed: number;
  failures: { taskId: string; message: string }[];
  createdAt: string;
  endedAt?: string;
}

const describe = (filter: Operation['filter']): string =>
  Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');

/** What was cancelled or retried by a filter, also in the background. */
export const BulkChanges = () => {
  const operations = usePaged<Operation>('v1/operations', 'operations', {}, ({ type }) =>
    /^(operation|task)\./.test(type),
  );
  const stop = async ({ operationId }: Operation): Promise<void> => {
    await attempt('It stops', () => call('POST', `v1/operations/${encodeURIComponent(operationId)}/stop`));
    operations.reload();
  };
  return (
    <Page title="Events" name="Bulk changes" lead="Many tasks that were cancelled or retried at once.">
      <EventTabs />
      <Table
        from={operations}
        keyOf={({ operationId }) => operationId}
        columns={[
          { label: 'State', show: ({ status }) => <StateBadge state={status} /> },
          { label: 'What', show: ({ kind }) => <span class="strong">{kind}</span> },
          { label: 'Which', show: ({ filter }) => describe(filter) },
          { label: 'By', show: ({ by }) => by },
          { label: 'Reason', show: ({ reason }) => <span class="muted">{reason}</span> },
          {
            label: 'Changed',
            isNumber: true,
            show: ({ changed, expected }) => `${formatCount(changed)} of ${formatBounded(expected)}`,
          },
          {
            label: 'Failed',
            isNumber: true,
            show: ({ failed, failures: [first] }) =>
              failed === 0 ? (
                <span class="muted">–</span>
              ) : (
                <a class="bad-text" href={href(['tasks', first?.taskId ?? ''])} title={first?.message}>
                  {formatCount(failed)}
                </a>
              ),
          },
          { label: 'When', isNumber: true, show: ({ createdAt }) => <Time at={createdAt} /> },
          ...(canOperate.value && operations.data.value?.some(({ status }) => status === 'running')
            ? [
                {
                  label: 'Action',
                  show: (one: Operation) => one.status === 'running' && <Button onClick={() => stop(one)}>Stop</Button>,
                },
              ]
            : []),
        ]}
        empty={
          <Empty title="No bulk changes yet" icon="tasks">
            <a href={href(['tasks'])}>Filter the tasks</a>, and cancel or retry all that match.
          </Empty>
        }
      />
    </Page>
  );
};
