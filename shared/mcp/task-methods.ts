import { isJsonObject, type Json, type JsonObject } from '../kernel/json/json.ts';
import { ApiProblem, fetchTask, hasEnded, type ShownTask, taskPath } from './api.ts';
import type { McpContext } from './context.ts';
import { readAnswer } from './elicitation.ts';
import { toDetailedMcpTask } from './mcp-task.ts';
import { invalidParamsError } from './rpc-error.ts';

const loadTask = async ({ api, call }: McpContext): Promise<ShownTask> => {
  const { taskId } = call.params;
  if (typeof taskId !== 'string') throw invalidParamsError('taskId must be a string.');
  try {
    return await fetchTask(api, taskId);
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) throw invalidParamsError(`There is no task ${taskId}.`);
    throw error;
  }
};

export const getMcpTask = async (context: McpContext): Promise<JsonObject> =>
  toDetailedMcpTask(await loadTask(context), context);

/** An answer to another question than the present one is too late, and means nothing. */
export const updateMcpTask = async (context: McpContext): Promise<JsonObject> => {
  const task = await loadTask(context);
  const { inputResponses } = context.call.params;
  if (!isJsonObject(inputResponses)) throw invalidParamsError('inputResponses must be an object.');
  if (task.state === 'input_required') await answerQuestion(context, task, inputResponses);
  return {};
};

/** Whether the responses had an answer. */
export const answerQuestion = async (
  { api }: McpContext,
  task: ShownTask,
  responses: Json | undefined,
): Promise<boolean> => {
  const input = readAnswer(task, responses);
  if (input === undefined) return false;
  try {
    await api.call('POST', taskPath(task.id, '/input'), { body: { input } });
  } catch (error) {
    if (error instanceof ApiProblem && error.status < 500) throw invalidParamsError(error.message, error.problem);
    throw error;
  }
  return true;
};

/** Cooperative: a task that has ended stays as it is. */
export const cancelMcpTask = async (context: McpContext): Promise<JsonObject> => {
  const task = await loadTask(context);
  if (hasEnded(task)) return {};
  try {
    await context.api.call('POST', taskPath(task.id, '/cancel'));
  } catch (error) {
    // It ended meanwhile.
    if (!(error instanceof ApiProblem && error.status === 409)) throw error;
  }
  return {};
};
