import { call, get } from '../../api/call.ts';
import type { TaskError } from '../../api/types.ts';
import { toTone } from '../../model/task-state.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Id, StateBadge, Time } from '../../ui/basics.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { attempt } from '../../ui/toast.tsx';

interface Item {
  taskId: string;
  status: string;
  error?: TaskError;
}

interface Batch {
  batchId: string;
  status: string;
  failFast: boolean;
  createdAt: string;
  deadline: string;
  endedAt?: string;
  results: Item[];
}

/** One square for each task, filled as it ends. */
export const BatchPage = ({ id }: { id: string }) => {
  const loaded = useResource(`batch ${id}`, (abort) => get<Batch>(`v1/batches/${encodeURIComponent(id)}`, {}, abort), {
    when: ({ type, data }, batch) =>
      data.batchId === id ||
      (type.startsWith('task.') && batch?.results.some(({ taskId }) => taskId === data.taskId) === true),
    restMs: 500,
  });
  const cancel = async (): Promise<void> => {
    await attempt('Cancelled', () => call('POST', `v1/batches/${encodeURIComponent(id)}/cancel`));
    loaded.reload();
  };
  return (
    <Loaded from={loaded}>
      {(found) => (
        <Page
          name="Batch"
          title={
            <>
              Batch <StateBadge state={found.status} />
            </>
          }
          lead={<Id id={found.batchId} isLong />}
          actions={
            canOperate.value &&
            found.endedAt === undefined && (
              <Button kind="danger" icon="cross" onClick={cancel}>
                Cancel open tasks
              </Button>
            )
          }
        >
          <Card
            title={`${found.results.filter(({ status }) => toTone(status) === 'good').length} of ${found.results.length} completed`}
          >
            <ol class="squares">
              {found.results.map(({ taskId, status, error }) => (
                <li key={taskId}>
                  <a
                    class={`square ${toTone(status)}`}
                    href={href(['tasks', taskId])}
                    title={`${taskId}\n${status}${error ? ` · ${error.code}` : ''}`}
                  >
                    <span class="visually-hidden">{`${taskId} ${status}`}</span>
                  </a>
                </li>
              ))}
            </ol>
          </Card>
          <Card>
            <Facts
              rows={[
                ['Created', <Time key="c" at={found.createdAt} />],
                ['Deadline', <Time key="d" at={found.deadline} />],
                ['Ended', found.endedAt && <Time at={found.endedAt} />],
                ['Ends with the first failure', found.failFast ? 'yes' : 'no'],
              ]}
            />
          </Card>
        </Page>
      )}
    </Loaded>
  );
};
