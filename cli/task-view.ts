import type { Json, TaskStatus } from '../sdk/typescript/src/index.ts';
import { EXIT, ExitError } from './command.ts';
import { type Column, formatAge, type Output, styleOfState, toPlainText } from './output.ts';

export interface TaskRow {
  id: string;
  state: string;
  type: string;
  priority: string;
  from: string;
  to?: string;
  attempt: number;
  maxAttempts: number;
  createdAt: string;
  error?: { code: string; message: string };
  lastError?: { code: string; message: string };
}

export const TASK_COLUMNS: Column<TaskRow>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state }) => state, style: ({ state }) => styleOfState(state) },
  { title: 'capability', value: ({ type }) => type },
  { title: 'priority', value: ({ priority }) => priority },
  { title: 'from', value: ({ from }) => from },
  { title: 'attempt', value: ({ attempt, maxAttempts }) => `${attempt}/${maxAttempts}`, align: 'right' },
  { title: 'age', value: ({ createdAt }) => formatAge(createdAt), align: 'right' },
  { title: 'error', value: ({ error, lastError }) => (error ?? lastError)?.code },
];

interface TimelineEntry {
  at: string;
  event: string;
  agent?: string;
  attempt?: number;
  message?: string;
  percent?: number;
  answer?: Json;
  error?: { code: string; message: string };
}

export const showTask = (out: Output, task: TaskStatus): void => {
  if (out.isJson) {
    out.json(task);
    return;
  }
  const { history = [] } = task as unknown as { history?: TimelineEntry[] };
  const fields = [
    'type',
    'priority',
    'dialect',
    'from',
    'to',
    'conversationId',
    'parentTaskId',
    'graphId',
    'expiresAt',
  ];
  out.line(`${out.style('bold', task.id)}  ${out.style(styleOfState(task.state), task.state)}`);
  for (const name of fields)
    if (task[name] !== undefined) out.line(`  ${name.padEnd(16)}${toPlainText(String(task[name]))}`);
  for (const [name, value] of Object.entries({ input: task.payload, result: task.result, question: task.input })) {
    if (value !== undefined) out.line(`  ${name.padEnd(16)}${JSON.stringify(value)}`);
  }
  if (task.error)
    out.line(`  ${'error'.padEnd(16)}${out.style('red', `${task.error.code}: ${toPlainText(task.error.message)}`)}`);
  out.line();
  for (const entry of history) out.line(`  ${formatEntry(out, entry)}`);
};

const formatEntry = (
  out: Output,
  { at, event, agent, attempt, message, percent, answer, error }: TimelineEntry,
): string => {
  const details = [
    attempt !== undefined && attempt > 1 ? `attempt ${attempt}` : undefined,
    percent === undefined ? undefined : `${percent} %`,
    message && toPlainText(message),
    answer === undefined ? undefined : JSON.stringify(answer),
    error && `${error.code}: ${toPlainText(error.message)}`,
  ];
  return [out.style('dim', at), event.padEnd(14), agent ?? '', ...details.filter((one) => one !== undefined)].join(
    '  ',
  );
};

/** Prints each change of a task until it has ended, and ends as it did. */
export const watchTask = async (
  out: Output,
  handle: { status(options: { waitSeconds?: number; signal?: AbortSignal }): Promise<TaskStatus> },
  signal: AbortSignal,
): Promise<void> => {
  let told = 0;
  for (;;) {
    const task = await handle.status({ signal });
    const { history = [] } = task as unknown as { history?: TimelineEntry[] };
    for (const entry of history.slice(told)) out.note(formatEntry(out, entry));
    told = history.length;
    if (['completed', 'failed', 'expired', 'cancelled'].includes(task.state)) {
      if (out.isJson) out.json(task);
      else if (task.state === 'completed')
        out.line(JSON.stringify(task.result ?? null, null, out.isTerminal ? 2 : undefined));
      if (task.state !== 'completed') {
        const { code = task.state, message = '' } = task.error ?? {};
        throw new ExitError(EXIT.taskFailed, `${task.id} is ${task.state}: ${message} (${code})`);
      }
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    signal.throwIfAborted();
  }
};
