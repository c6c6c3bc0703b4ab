import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call, get } from '../../api/call.ts';
import { isMissingCall, type Problem, toProblem } from '../../api/problem.ts';
import type { BoundedCount, Task } from '../../api/types.ts';
import { formatBounded, formatCount } from '../../model/format.ts';
import { href } from '../../state/router.ts';
import { Button, Loading, ProblemNote, StateBadge } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Filter } from './task-pages.ts';

export type BulkKind = 'cancel' | 'retry';

interface Preview {
  count: BoundedCount;
  sample: Task[];
}

interface Operation {
  operationId: string;
  changed: number;
  failed: number;
  endedAt?: string;
}

const WORDS = {
  cancel: { title: 'Cancel matching tasks', verb: 'Cancel', did: 'cancelled', which: 'open' },
  retry: { title: 'Retry matching tasks', verb: 'Retry', did: 'queued again', which: 'failed or expired' },
} as const;

const toBody = (filter: Filter): object => ({
  ...filter,
  ...(filter.status && { status: filter.status.split(',') }),
  ...(filter.retrying && { retrying: true }),
});

const MISSING = 'This server has no calls for many tasks at once. Update it, or use the command line.';

export const BulkDialog = ({ kind, filter, onClose }: { kind: BulkKind; filter: Filter; onClose: () => void }) => {
  const { title, verb, which } = WORDS[kind];
  const preview = useSignal<Preview | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const reason = useSignal('');
  const operation = useSignal<Operation | undefined>(undefined);
  useEffect(() => {
    call<Preview>('POST', `v1/tasks/${kind}`, { body: { filter: toBody(filter), dryRun: true } })
      .then((found) => {
        preview.value = found;
      })
      .catch((error) => {
        problem.value = toProblem(error);
      });
  }, []);
  const run = async (): Promise<void> => {
    try {
      const body = { filter: toBody(filter), ...(reason.value.trim() !== '' && { reason: reason.value.trim() }) };
      operation.value = await call<Operation>('POST', `v1/tasks/${kind}`, { body });
      while (operation.value && operation.value.endedAt === undefined) {
        operation.value = await get<Operation>(`v1/operations/${operation.value.operationId}`, { wait: 2 });
      }
    } catch (error) {
      problem.value = toProblem(error);
    }
  };
  const found = preview.value;
  return (
    <Dialog title={title} onClose={onClose}>
      {problem.value &&
        (isMissingCall(problem.value) ? <p class="note">{MISSING}</p> : <ProblemNote problem={problem.value} />)}
      {!found && !problem.value && <Loading />}
      {found && !operation.value && (
        <>
          <p>
            {verb} <strong data-testid="bulk-count">{formatBounded(found.count)}</strong> {which}{' '}
            {found.count.value === 1 ? 'task' : 'tasks'} that the filter matches now, and those that it will match until
            this is done.
          </p>
          <ul class="sample">
            {found.sample.slice(0, 5).map((task) => (
              <li key={task.id}>
                <StateBadge state={task.state} /> <span class="strong">{task.type}</span>{' '}
                <code class="muted">{task.id}</code>
              </li>
            ))}
          </ul>
          <label>
            Reason
            <input
              value={reason.value}
              onInput={(event) => (reason.value = event.currentTarget.value)}
              placeholder="Shown in the timeline of each task"
            />
          </label>
          <div class="actions">
            <Button onClick={onClose}>Not now</Button>
            <Button kind={kind === 'cancel' ? 'danger' : 'primary'} onClick={run} isDisabled={found.count.value === 0}>
              {verb} {formatBounded(found.count)}
            </Button>
          </div>
        </>
      )}
      {operation.value && <Progress kind={kind} operation={operation.value} onClose={onClose} />}
    </Dialog>
  );
};

const Progress = ({ kind, operation, onClose }: { kind: BulkKind; operation: Operation; onClose: () => void }) => {
  const isRunning = operation.endedAt === undefined;
  return (
    <>
      <p>
        <strong>{formatCount(operation.changed)}</strong> {WORDS[kind].did}
        {operation.failed > 0 && `, ${formatCount(operation.failed)} could not be`}
        {isRunning ? '…' : '.'}
      </p>
      <div class="actions">
        {isRunning && (
          <a class="button" href={href(['events'], { show: 'changes' })} onClick={onClose}>
            All bulk changes
          </a>
        )}
        {isRunning && <Button onClick={() => call('POST', `v1/operations/${operation.operationId}/stop`)}>Stop</Button>}
        <Button kind="primary" onClick={onClose}>
          {isRunning ? 'Go on in the background' : 'Done'}
        </Button>
      </div>
    </>
  );
};
