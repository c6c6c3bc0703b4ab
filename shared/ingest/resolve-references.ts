import type { Agent, RegisteredAgent } from '../identity/agents/agent.ts';
import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { SHORT_ID } from '../kernel/ids.ts';
import type {
  AnswerMessage,
  AskMessage,
  DirectMessageCommand,
  TaskCommand,
  TaskReport,
  TaskRequestCommand,
} from '../model/command.ts';
import { isHeld, taskRef } from '../model/task.ts';
import { checkDependencyCount } from '../tasks/dependencies/reconcile-dependencies.ts';
import { findTaskByAnyId } from '../tasks/ids/aliases.ts';
import { findTaskByQuestion } from '../tasks/ids/question-ids.ts';
import {
  findRequestedTask,
  findTaskByShortId,
  resolveShortId,
  taskNotFoundByShortIdError,
} from '../tasks/ids/short-ids.ts';

/** Turns short ids into task ids, and messages about unknown tasks into their fallback. */
export const resolveReferences = (
  deps: Deps,
  caller: Caller,
  { agent }: RegisteredAgent,
  command: TaskCommand,
): TaskCommand | Promise<TaskCommand> => {
  if (command.kind === 'request') return resolveRequestReferences(deps, caller, command);
  if ('requester' in command && command.requester !== undefined && command.kind !== 'answer') {
    return resolveTaskByShortId(deps, agent, command);
  }
  if (command.kind === 'ask' && command.fallback) {
    return resolveQuestionOrFallback(deps, agent, command, command.fallback);
  }
  return 'fallback' in command && command.fallback
    ? resolveReportOrFallback(deps, agent, command, command.fallback)
    : command;
};

const resolveTaskByShortId = async (deps: Deps, agent: Agent, report: TaskReport): Promise<TaskCommand> => {
  const taskId = (await findTaskByShortId(deps, agent, report)) ?? (await findAskedTask(deps, agent, report));
  if (taskId !== undefined) return { ...report, taskId };
  if (!report.fallback) throw taskNotFoundByShortIdError(report);
  return report.fallback;
};

/** The task whose holder waits for this reply. */
const findAskedTask = async (deps: Deps, agent: Agent, report: TaskReport): Promise<string | undefined> => {
  const { project, id: requester } = agent;
  const { taskId: id, reply, requester: holder } = report;
  if (!reply || holder === undefined || id === '') return undefined;
  const found =
    (await findTaskByQuestion(deps, project, { requester, holder, id })) ??
    (await findRequestedTask(deps, agent, { holder, short: id }));
  const task = found === undefined ? undefined : await deps.records.get(taskRef(project, found));
  return task?.from === requester && task.holder === holder && task.status === 'input_required' ? found : undefined;
};

/** A question about a task that the sender holds. Otherwise it is a request. */
const resolveQuestionOrFallback = async (
  deps: Deps,
  { project, id }: Agent,
  question: AskMessage,
  request: TaskRequestCommand | DirectMessageCommand,
): Promise<TaskCommand> => {
  const task = await findTaskByAnyId(deps.records, project, question.taskId);
  return task && isHeld(task) && task.holder === id && task.from === request.to ? question : request;
};

const resolveReportOrFallback = async (
  deps: Deps,
  { project, id }: Agent,
  report: TaskReport | AnswerMessage,
  otherwise: TaskCommand,
): Promise<TaskCommand> => {
  const task = await findTaskByAnyId(deps.records, project, report.taskId);
  return task && [task.to, task.holder].includes(id) ? report : otherwise;
};

/** Parent and dependencies. */
export const resolveRequestReferences = (
  deps: Deps,
  caller: Caller,
  request: TaskRequestCommand,
): TaskRequestCommand | Promise<TaskRequestCommand> =>
  (request.parent === undefined || request.isSubtask) && !request.dependencyShortIds
    ? request
    : resolveRequestShortIds(deps, caller, request);

/** An ambiguous id is no parent. */
const resolveParent = async (deps: Deps, caller: Caller, parent: string): Promise<string> => {
  try {
    return await resolveShortId(deps, caller, parent);
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'ambiguous_id') return parent;
    throw error;
  }
};

const resolveRequestShortIds = async (
  deps: Deps,
  caller: Caller,
  request: TaskRequestCommand,
): Promise<TaskRequestCommand> => {
  const { parent, isSubtask, dependencyShortIds } = request;
  const whole = parent === undefined || isSubtask ? parent : await resolveParent(deps, caller, parent);
  if (!dependencyShortIds) return { ...request, parent: whole };
  const names = [...new Set(dependencyShortIds)];
  const refusal = checkDependencyCount(names);
  if (refusal) throw refusal;
  const found = await Promise.all(names.map((id) => resolveShortId(deps, caller, id)));
  const isUnknown = (id: string): boolean => SHORT_ID.test(id);
  const ignoredDependencies = found.some(isUnknown) ? found.filter(isUnknown) : undefined;
  return { ...request, parent: whole, dependencyIds: found.filter((id) => !isUnknown(id)), ignoredDependencies };
};
