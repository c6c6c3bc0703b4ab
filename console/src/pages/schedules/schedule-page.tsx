import { useSignal } from '@preact/signals';
import { call, get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Task } from '../../api/types.ts';
import { formatCount } from '../../model/format.ts';
import { useResource } from '../../state/resource.ts';
import { go, href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Empty, Id, Time } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { attempt } from '../../ui/toast.tsx';
import { MISSED, type Schedule, toPath } from './schedule.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';
import { ScheduleState } from './schedules.tsx';

export const SchedulePage = ({ id }: { id: string }) => {
  const schedule = useResource(`schedule ${id}`, (abort) => get<Schedule>(toPath(id), {}, abort), {
    when: ({ type }) => type === 'task.requested',
    restMs: 2000,
  });
  if (schedule.problem.value?.status === 404) {
    return (
      <Page title="No such schedule" name="No such schedule">
        <Empty title={`There is no schedule ${id}`} icon="calendar">
          <a href={href(['schedules'])}>All schedules</a>
        </Empty>
      </Page>
    );
  }
  return <Loaded from={schedule}>{(found) => <Found schedule={found} reload={schedule.reload} />}</Loaded>;
};

const Found = ({ schedule, reload }: { schedule: Schedule; reload: () => void }) => {
  const { scheduleId: id, status, task, lastError, nextRuns } = schedule;
  const opened = useSignal<'change' | 'remove' | undefined>(undefined);
  const control = async (action: 'pause' | 'resume', done: string): Promise<void> => {
    await attempt(done, () => call('POST', `${toPath(id)}/${action}`));
    reload();
  };
  const run = async (): Promise<void> => {
    const answer = await attempt('Requested', () => call<Task>('POST', `${toPath(id)}/run`));
    if (!(answer instanceof Problem)) go(href(['tasks', answer.id]));
  };
  const remove = async (): Promise<void> => {
    const answer = await attempt('Removed', () => call('DELETE', toPath(id)));
    if (!(answer instanceof Problem)) go(href(['schedules']));
  };
  const close = (): void => {
    opened.value = undefined;
    reload();
  };
  return (
    <Page
      name={id}
      title={
        <>
          {id} <ScheduleState of={schedule} />
        </>
      }
      lead={
        <>
          <strong>{task.capability}</strong> at <code>{schedule.cron}</code>, in UTC
        </>
      }
      actions={
        canOperate.value && (
          <>
            <Button kind="primary" icon="send" onClick={run} title="Requests its task now, beside its times">
              Run now
            </Button>
            {status === 'paused' ? (
              <Button icon="play" onClick={() => control('resume', 'It runs again at its times')}>
                Resume
              </Button>
            ) : (
              <Button icon="pause" onClick={() => control('pause', 'It runs no more until it is resumed')}>
                Pause
              </Button>
            )}
            <Button onClick={() => (opened.value = 'change')}>Change…</Button>
            <Button kind="danger" icon="cross" onClick={() => (opened.value = 'remove')}>
              Remove…
            </Button>
          </>
        )
      }
    >
      {lastError && (
        <p class="note bad">
          The last run has no task: {lastError.message} <code>{lastError.code}</code>
        </p>
      )}
      <div class="columns">
        <div class="stack">
          <Card title="The next runs" isFlush>
            {nextRuns.length === 0 ? (
              <Empty title="No run is planned" icon="pause">
                It runs at its times again when it is resumed.
              </Empty>
            ) : (
              <ul class="lines">
                {nextRuns.map((at) => (
                  <li key={at}>
                    <span class="grow num">{at.replace('T', ' ').replace(/:\d\d\.\d+Z$/, ' UTC')}</span>
                    <span class="muted num">
                      <Time at={at} />
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </Card>
          <Card title="What it requests">
            <JsonView value={task} label="the task" />
          </Card>
        </div>
        <Card class="side">
          <Facts
            rows={[
              [
                'Requester',
                <a key="a" href={href(['agents', schedule.from])}>
                  {schedule.from}
                </a>,
              ],
              ['Runs', formatCount(schedule.runs)],
              ['Last run', schedule.lastRunAt && <Time at={schedule.lastRunAt} />],
              [
                'Last task',
                schedule.lastTaskId && <Id id={schedule.lastTaskId} to={href(['tasks', schedule.lastTaskId])} />,
              ],
              ['Missed runs', MISSED[schedule.missed] ?? schedule.missed],
              ['Left out', schedule.skipped > 0 && formatCount(schedule.skipped)],
              ['Made', <Time key="m" at={schedule.createdAt} />],
            ]}
          />
        </Card>
      </div>
      {opened.value === 'change' && <ScheduleDialog schedule={schedule} onClose={close} />}
      {opened.value === 'remove' && (
        <Dialog title={`Remove ${id}?`} onClose={close}>
          <p>It requests no more tasks. Those that it has requested stay.</p>
          <div class="actions">
            <Button onClick={close}>Keep it</Button>
            <Button kind="danger" onClick={remove}>
              Remove the schedule
            </Button>
          </div>
        </Dialog>
      )}
    </Page>
  );
};
