import type { Agent, Known } from '../agents/agent.ts';
import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { SHORT_ID } from '../ids.ts';
import { taskByAnyId } from '../tasks/alias.ts';
import { tooMany } from '../tasks/dependencies.ts';
import { noTaskCalled, taskCalled, unshortened } from '../tasks/short-names.ts';
import type { AnswerMessage, Command, OwnMessage, Request, TaskReport } from './command.ts';

export type TaskCommand = Exclude<Command, OwnMessage>;

/** Some messages are reports only where their sender was given the task that they name, and some name it shortly. */
export const meant = (
  deps: Deps,
  caller: Caller,
  { agent }: Known,
  command: TaskCommand,
): TaskCommand | Promise<TaskCommand> => {
  if (command.kind === 'request') return spelledOut(deps, caller, command);
  if ('requester' in command && command.requester !== undefined && command.kind !== 'answer') {
    return aboutTaskCalled(deps, agent, command);
  }
  return 'otherwise' in command && command.otherwise ? reportOr(deps, agent, command, command.otherwise) : command;
};

const aboutTaskCalled = async (deps: Deps, agent: Agent, report: TaskReport): Promise<TaskCommand> => {
  const taskId = await taskCalled(deps, agent, report);
  if (taskId !== undefined) return { ...report, taskId };
  if (!report.otherwise) throw noTaskCalled(report);
  return report.otherwise;
};

const reportOr = async (
  deps: Deps,
  { project, id }: Agent,
  report: TaskReport | AnswerMessage,
  otherwise: TaskCommand,
): Promise<TaskCommand> => {
  const task = await taskByAnyId(deps.records, project, report.taskId);
  return task && [task.to, task.holder].includes(id) ? report : otherwise;
};

/** What a request calls shortly: its parent, and what it waits for. */
export const spelledOut = (deps: Deps, caller: Caller, request: Request): Request | Promise<Request> =>
  (request.parent === undefined || request.isSubtask) && !request.waitsForShort
    ? request
    : unshortenedIn(deps, caller, request);

const unshortenedIn = async (deps: Deps, caller: Caller, request: Request): Promise<Request> => {
  const { parent, isSubtask, waitsForShort } = request;
  const whole = parent === undefined || isSubtask ? parent : await unshortened(deps, caller, parent);
  if (!waitsForShort) return { ...request, parent: whole };
  const names = [...new Set(waitsForShort)];
  const refusal = tooMany(names);
  if (refusal) throw refusal;
  const found = await Promise.all(names.map((id) => unshortened(deps, caller, id)));
  const isUnknown = (id: string): boolean => SHORT_ID.test(id);
  const notWaitedFor = found.some(isUnknown) ? found.filter(isUnknown) : undefined;
  return { ...request, parent: whole, waitsFor: found.filter((id) => !isUnknown(id)), notWaitedFor };
};
