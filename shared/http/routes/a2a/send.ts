import { loadA2aTask } from '../../../adapters/a2a/task-view.ts';
import { a2aDialect } from '../../../dialects/a2a/a2a.ts';
import { parseContent } from '../../../dialects/a2a/content.ts';
import { A2A, parseOptions, resolveSender, toRequest } from '../../../dialects/a2a/decode.ts';
import { type A2aMessage, type RequestOptions, SendMessageRequest } from '../../../dialects/a2a/schema.ts';
import { toTaskState } from '../../../dialects/a2a/states.ts';
import type { Agent } from '../../../identity/agents/agent.ts';
import { getCallerName } from '../../../identity/auth/authenticate.ts';
import { computeProjectHmac } from '../../../identity/project-secret.ts';
import { authorizeSender } from '../../../ingest/authorize.ts';
import { withAuditEntry } from '../../../ingest/ingest-message.ts';
import { uuidFromSeed } from '../../../kernel/ids.ts';
import { type JsonObject, toObjectOrEmpty } from '../../../kernel/json/json.ts';
import { parseOrThrow } from '../../../kernel/json/parse-or-throw.ts';
import { isOpen, type Task } from '../../../model/task.ts';
import { answerTask } from '../../../tasks/commands/answer-task.ts';
import { createTask } from '../../../tasks/commands/create-task.ts';
import { type A2aCall, assertSameContext, findTask } from './call.ts';
import { A2aError } from './errors.ts';
import { addPushConfig, withPushConfig } from './push.ts';

interface SentMessage extends BegunTask {
  request: SendMessageRequest;
}

interface BegunTask {
  taskId: string;
  /** If the message has just begun it. */
  task?: Task | undefined;
}

/** The task that the message begins or continues. The same message again is the same task. */
export const acceptMessage = async (call: A2aCall, params: JsonObject): Promise<SentMessage> => {
  const request = parseOrThrow(SendMessageRequest, params, 'invalid_request', 'The request');
  const { message } = request;
  if (message.role !== 'ROLE_USER') throw new A2aError('INVALID_PARAMS', 'message.role must be ROLE_USER.');
  assertMediaTypes(call.agent, message);
  const options = parseOptions(request);
  const pushed = request.configuration?.taskPushNotificationConfig;
  const begun: BegunTask = message.taskId
    ? { taskId: await continueTask(call, message, message.taskId, options, pushed) }
    : await beginTask(call, request, params, options);
  call.request.addLogFields?.({ taskId: begun.taskId });
  return { ...begun, request };
};

export const sendMessage = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { blockSeconds } = call.deps.config.dialects.a2a;
  const isBlocking = toObjectOrEmpty(params.configuration).returnImmediately !== true;
  const waitMs = isBlocking ? blockSeconds * 1000 : 0;
  const signal = call.longPoll.startWait(waitMs);
  const { taskId, task: begun, request } = await acceptMessage(call, params);
  const isKnown = begun && !isBlocking;
  const { task, entries } = isKnown ? { task: begun, entries: [] } : await findTask(call, taskId, waitMs, signal);
  const { historyLength } = request.configuration ?? {};
  return { task: await loadA2aTask(call.deps, task, entries, { historyLength }) };
};

const beginTask = async (
  { deps, caller, agent, signed, trace }: A2aCall,
  request: SendMessageRequest,
  wire: JsonObject,
  options: RequestOptions,
): Promise<BegunTask> => {
  const { project } = caller;
  const from = resolveSender(options.from, caller.role === 'agent' ? getCallerName(caller) : undefined);
  const { message, metadata } = request;
  await authorizeSender(deps, { caller, from, messageCount: 1, signature: signed });
  const target = pickTarget(agent, options, message.metadata?.skillId ?? metadata?.skillId);
  const decoded = toRequest(request, target, from, agent?.id);
  const parts = [from, agent?.id ?? '', message.messageId];
  const secret = await computeProjectHmac(deps, project, 'a2a.task', parts);
  const taskId = uuidFromSeed([A2A, secret.toString('base64url')]);
  const command = { ...withAuditEntry(deps, a2aDialect, wire, decoded), taskId, messageId: taskId };
  const { taskPushNotificationConfig: pushed } = request.configuration ?? {};
  if (pushed) {
    const create = () => createTask(deps, caller, A2A, { ...command, hasPush: true }, trace);
    return { taskId: await withPushConfig(deps, project, command, pushed, create) };
  }
  const { task } = await createTask(deps, caller, A2A, command, trace);
  return { taskId, task };
};

/** What it says, else the skill that it names, else the only one of the agent, else the agent itself. */
const pickTarget = (agent: Agent | undefined, options: RequestOptions, skill: unknown): RequestOptions => {
  if (agent && options.to !== undefined && options.to !== agent.id)
    throw new A2aError('INVALID_PARAMS', `This is the address of ${agent.id}, not of ${options.to}.`);
  const [only, another] = agent?.capabilities ?? [];
  const isOnly = only !== undefined && another === undefined && !only.endsWith('*');
  const capability = options.capability ?? (typeof skill === 'string' ? skill : isOnly ? only : undefined);
  return { ...options, to: agent?.id ?? options.to, capability };
};

const continueTask = async (
  call: A2aCall,
  { messageId, contextId, parts, metadata }: A2aMessage,
  id: string,
  options: RequestOptions,
  pushed: JsonObject | undefined,
): Promise<string> => {
  const { deps, caller, signed } = call;
  const { task, entries } = await findTask(call, id);
  assertSameContext(task, contextId);
  const answered = [task.lastAnswer, ...entries.map(({ lastAnswer }) => lastAnswer)];
  if (answered.some((answer) => answer?.messageId === messageId)) return task.id;
  if (task.status !== 'input_required') {
    const why = isOpen(task)
      ? 'Its agent is at work, and has asked for nothing.'
      : `It has ended: ${toTaskState(task)}. Begin a new one with referenceTaskIds.`;
    throw new A2aError('UNSUPPORTED_OPERATION', `The task ${id} takes no message. ${why}`, { taskId: id });
  }
  await authorizeSender(deps, { caller, from: options.from ?? task.from, messageCount: 1, signature: signed });
  const { parley: _ours, ...own } = metadata ?? {};
  const extensions = Object.keys(own).length > 0 ? { [A2A]: { messageMetadata: own } } : undefined;
  if (pushed) await addPushConfig(deps, task, pushed);
  await answerTask(deps, caller, task.id, parseContent(parts), { messageId, extensions });
  return task.id;
};

/** Against what the agent says that it takes. */
const assertMediaTypes = (agent: Agent | undefined, { parts }: A2aMessage): void => {
  const taken = agent?.agentCard?.inputModes;
  if (!taken) return;
  for (const { mediaType, text, data } of parts) {
    const type = mediaType ?? (text !== undefined ? 'text/plain' : data !== undefined ? 'application/json' : undefined);
    if (type === undefined || taken.some((mode) => matchesMode(mode, type))) continue;
    throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', `${agent.id} takes ${taken.join(', ')}, not ${type}.`);
  }
};

const matchesMode = (mode: string, type: string): boolean =>
  mode === '*/*' || mode === type || (mode.endsWith('/*') && type.startsWith(mode.slice(0, -1)));
