import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { loadSchemaChecker } from '../../kernel/json/schema-checker.ts';
import type { McpAnswer } from '../answer.ts';
import { fetchTask, hasEnded, isSettled, type ShownTask } from '../api.ts';
import type { McpContext } from '../context.ts';
import { buildInputKey, buildInputRequests } from '../elicitation.ts';
import type { ShownCapability } from '../list-capabilities.ts';
import { isModern } from '../mcp-call.ts';
import { toCallResult, toMcpTask } from '../mcp-task.ts';
import { openState, sealState } from '../request-state.ts';
import { invalidParamsError } from '../rpc-error.ts';
import { submitTask } from '../submit-task.ts';
import { answerQuestion } from '../task-methods.ts';
import { toInputSchema, toTaskInput } from './capability-tools.ts';
import { assertParameterHeadersMatch } from './check-parameter-headers.ts';
import { buildTaskUri, toErrorResult } from './content.ts';
import { streamProgress } from './stream-progress.ts';

/** A client that can follow tasks is soon given one. */
const HANDLE_AFTER_SECONDS = 0.5;
const MAX_WAIT_SECONDS = 25;

/** Gives a task to whoever has the capability. The task goes on when the client leaves. */
export const callCapability = async (
  context: McpContext,
  capability: ShownCapability,
  args: JsonObject,
): Promise<McpAnswer> => {
  const { api, call } = context;
  if (isModern(call)) assertParameterHeadersMatch(toInputSchema(capability.input), args, call.headers);
  const misfit = await describeMisfit(capability, toTaskInput(capability, args));
  if (misfit !== undefined) return toErrorResult('invalid_arguments', misfit);
  const id = await submitOrContinue(context, capability, args);
  if (call.canFollowTasks) {
    const task = await fetchTask(api, id, HANDLE_AFTER_SECONDS);
    return hasEnded(task) ? toCallResult(task) : { resultType: 'task', ...toMcpTask(task, context) };
  }
  if (call.progressToken !== undefined && context.canStream) {
    return streamProgress(context, id, call.progressToken, (task) => answerUnfinished(context, capability, task));
  }
  const task = await fetchTask(api, id, MAX_WAIT_SECONDS);
  return answerUnfinished(context, capability, task);
};

/** Agents check it when they claim, which is too late for who calls. */
const describeMisfit = async ({ input: schema }: ShownCapability, input: Json): Promise<string | undefined> => {
  const issues = schema ? (await loadSchemaChecker())(schema, input, 'input') : [];
  return issues.length === 0 ? undefined : issues.map(({ path, message }) => `${path} ${message}`).join('\n');
};

const submitOrContinue = async (
  context: McpContext,
  capability: ShownCapability,
  args: JsonObject,
): Promise<string> => {
  const { params } = context.call;
  const input = toTaskInput(capability, args);
  if (params.requestState === undefined) {
    const meta = (params._meta ?? {}) as JsonObject;
    const key = meta['parley/id'];
    const request = { capability: capability.name, input };
    return submitTask(context, typeof key === 'string' ? { ...request, idempotencyKey: key } : request);
  }
  const { taskId } = await openState(context, params.requestState, capability.name);
  const task = await fetchTask(context.api, taskId);
  if (computeFingerprint(task.payload) !== computeFingerprint(input)) {
    throw invalidParamsError('requestState belongs to a call with other arguments.');
  }
  if (task.state === 'input_required') await answerQuestion(context, task, params.inputResponses);
  return taskId;
};

/** Once nobody waits any longer. */
const answerUnfinished = async (
  context: McpContext,
  { name }: ShownCapability,
  task: ShownTask,
): Promise<JsonObject> => {
  if (hasEnded(task)) return toCallResult(task);
  if (!isSettled(task)) return pointTo(task, `The task ${task.id} is still running. parley_wait waits for its result.`);
  if (isModern(context.call) && context.call.canElicit) {
    return {
      resultType: 'input_required',
      inputRequests: buildInputRequests(task),
      requestState: await sealState(context, { taskId: task.id, tool: name, question: buildInputKey(task) }),
    };
  }
  const { prompt = 'it needs input', schema } = task.input ?? {};
  const form = schema ? ` The answer must fit ${JSON.stringify(schema)}.` : '';
  return pointTo(
    task,
    `The task ${task.id} asks: ${prompt}${form} Answer with parley_answer, then wait for its result with parley_wait.`,
  );
};

const pointTo = ({ id, type }: ShownTask, text: string): JsonObject => ({
  content: [
    { type: 'text', text },
    { type: 'resource_link', uri: buildTaskUri(id), name: id, title: `Task of ${type}`, mimeType: 'application/json' },
  ],
  _meta: { 'parley/taskId': id },
});
