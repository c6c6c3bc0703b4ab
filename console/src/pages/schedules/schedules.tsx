import { usePaged } from '../../state/pages.ts';
import { href, params, setParams } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Badge, Button, Empty, Time } from '../../ui/basics.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import type { Schedule } from './schedule.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';

export const ScheduleState = ({ of: { status, lastError } }: { of: Schedule }) => (
  <>
    <Badge tone={status === 'paused' ? 'warn' : 'good'}>{status}</Badge>
    {lastError && <Badge tone="bad">last run failed</Badge>}
  </>
);

const COLUMNS: Column<Schedule>[] = [
  {
    label: 'Schedule',
    show: ({ scheduleId }) => (
      <a class="strong" href={href(['schedules', scheduleId])}>
        {scheduleId}
      </a>
    ),
  },
  { label: 'State', show: (one) => <ScheduleState of={one} /> },
  { label: 'Capability', show: ({ task }) => task.capability },
  { label: 'Times, in UTC', show: ({ cron }) => <code>{cron}</code> },
  { label: 'Requester', show: ({ from }) => from },
  { label: 'Runs', isNumber: true, show: ({ runs }) => runs },
  { label: 'Last', isNumber: true, show: ({ lastRunAt }) => <Time at={lastRunAt} /> },
  { label: 'Next', isNumber: true, show: ({ nextRuns: [next] }) => <Time at={next} /> },
];

export const Schedules = () => {
  const schedules = usePaged<Schedule>('v1/schedules', 'schedules', {}, ({ type }) => type === 'task.requested');
  const close = (): void => {
    setParams({ new: '' });
    schedules.reload();
  };
  return (
    <Page
      title="Schedules"
      name="Schedules"
      lead="Tasks that are requested again and again, at times of a calendar."
      actions={
        canOperate.value && (
          <Button kind="primary" icon="plus" onClick={() => setParams({ new: 'true' })}>
            New schedule
          </Button>
        )
      }
    >
      <Table
        from={schedules}
        columns={COLUMNS}
        keyOf={({ scheduleId }) => scheduleId}
        empty={
          <Empty title="No schedules yet" icon="calendar">
            A schedule requests a task at its times, such as a briefing at six on every working day.
          </Empty>
        }
      />
      {params.value.get('new') && canOperate.value && <ScheduleDialog onClose={close} />}
    </Page>
  );
};
