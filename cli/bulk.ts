import type { Parley } from '../sdk/typescript/src/index.ts';
import { EXIT, ExitError, getText, type OptionValues } from './command.ts';
import { formatBar } from './live-view.ts';
import type { Output } from './output.ts';
import type { TaskFilter } from './task-filter.ts';
import { TASK_COLUMNS, type TaskRow } from './task-view.ts';

export const BULK_OPTIONS: Record<string, string> = {
  reason: '<text> why, in the timeline of each task',
  'dry-run': 'only count the tasks, and show some',
};

export interface Operation {
  operationId: string;
  kind: string;
  status: string;
  by: string;
  filter: Record<string, unknown>;
  expected: { value: number; isExact: boolean };
  changed: number;
  skipped: number;
  failed: number;
  failures: { taskId: string; code: string; message: string }[];
  createdAt: string;
}

interface Preview {
  count: { value: number; isExact: boolean };
  sample: TaskRow[];
}

const WAIT_SECONDS = 2;

/** One call for all of them, followed until it ends. Ctrl-C stops it: what is changed stays changed. */
export const changeAll = async (
  parley: Parley,
  kind: 'cancel' | 'retry',
  filter: TaskFilter,
  { options, out, signal }: { options: OptionValues; out: Output; signal: AbortSignal },
): Promise<void> => {
  const path = `/v1/tasks/${kind}`;
  if (options['dry-run']) {
    const preview = await parley.call<Preview>('POST', path, { body: { filter, dryRun: true } });
    if (out.isJson) out.json(preview);
    else {
      out.note(`${preview.count.value}${preview.count.isExact ? '' : ' or more'} tasks match. The newest of them:`);
      out.table(preview.sample, TASK_COLUMNS, 'None.');
    }
    return;
  }
  const reason = getText(options, 'reason');
  const body = { filter, ...(reason !== undefined && { reason }) };
  const { operationId } = await parley.call<Operation>('POST', path, { body });
  await followOperation(parley, operationId, { out, signal, stopsOnAbort: true });
};

const toPath = (id: string): string => `/v1/operations/${encodeURIComponent(id)}`;

export const stopOperation = (parley: Parley, id: string): Promise<Operation> =>
  parley.call<Operation>('POST', `${toPath(id)}/stop`);

interface FollowOptions {
  out: Output;
  signal: AbortSignal;
  /** Otherwise it goes on without whoever looks. */
  stopsOnAbort: boolean;
}

/** Draws how far it is until it has ended, and ends as it did. */
export const followOperation = async (
  parley: Parley,
  id: string,
  { out, signal, stopsOnAbort }: FollowOptions,
): Promise<void> => {
  let operation = await parley.call<Operation>('GET', toPath(id));
  while (operation.status === 'running' || operation.status === 'stopping') {
    const { changed, skipped, failed, expected } = operation;
    const done = changed + skipped + failed;
    out.progress(`${formatBar(done / Math.max(1, expected.value), 20)} ${done} of ${expected.value}`);
    if (signal.aborted) {
      if (!stopsOnAbort) break;
      operation = await stopOperation(parley, id);
    }
    operation = await parley.call<Operation>('GET', toPath(id), { query: { wait: WAIT_SECONDS } });
  }
  out.progress(undefined);
  if (out.isJson) out.json(operation);
  else {
    const { changed, skipped, failed, status } = operation;
    out.line(`${status}: ${changed} changed, ${skipped} skipped, ${failed} failed`);
    for (const { taskId, message } of operation.failures) out.line(`${taskId}\t${message}`);
  }
  if (operation.failed > 0 || operation.status !== 'completed') throw new ExitError(EXIT.rejected);
};
