import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { type JsonObject, toJsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import type { Command, DirectMessageCommand, TaskReport, TaskRequestCommand } from '../../model/command.ts';
import { toNotBefore, toTimeToLive } from '../codec-helpers.ts';
import { parseContent, parseOutput, readText, toArtifact } from './content.ts';
import {
  type A2aMessage,
  type A2aTask,
  ArtifactUpdateMessage,
  pickA2aSchema,
  RequestOptions,
  SendMessageRequest,
  StatusUpdateMessage,
  TaskReportMessage,
} from './schema.ts';

export const A2A = 'a2a';
/** Of a request that names no capability, but an agent. */
export const MESSAGE_CAPABILITY = `${A2A}.message`;
const LABEL = 'The A2A message';

export const decode = (wire: JsonObject, _config: Config, sender: string | undefined): Command => {
  const schema = pickA2aSchema(wire);
  if (schema === TaskReportMessage)
    return toReport(parseOrThrow(TaskReportMessage, wire, 'invalid_message', LABEL).task, sender);
  if (schema === StatusUpdateMessage) {
    const { statusUpdate } = parseOrThrow(StatusUpdateMessage, wire, 'invalid_message', LABEL);
    const { taskId, ...update } = statusUpdate;
    return toReport({ ...update, id: taskId }, sender);
  }
  if (schema === ArtifactUpdateMessage)
    return toArtifactReport(parseOrThrow(ArtifactUpdateMessage, wire, 'invalid_message', LABEL), sender);
  const sent = parseOrThrow(SendMessageRequest, wire, 'invalid_message', LABEL);
  const options = parseOptions(sent);
  if (sent.message.role === 'ROLE_AGENT') return toDirectMessage(sent, options, sender);
  return sent.message.taskId === undefined
    ? toRequest(sent, options, sender)
    : toAnswer(sent.message, sent.message.taskId, options, sender);
};

export const parseOptions = ({ message, metadata }: SendMessageRequest): RequestOptions => {
  const said = { ...toObjectOrEmpty(metadata?.parley), ...toObjectOrEmpty(message.metadata?.parley) };
  return parseOrThrow(RequestOptions, said, 'invalid_message', 'metadata.parley');
};

export const resolveSender = (from: string | undefined, sender: string | undefined): string => {
  const agent = from ?? sender;
  if (agent !== undefined) return agent;
  throw new ParleyError('invalid_message', `${LABEL} must say who sends it where an admin key brings it.`, {
    issues: [{ path: 'metadata.parley.from', message: 'must name the agent for which an admin key speaks' }],
  });
};

/** Without Parley's own block; undefined where nothing is left. */
const pickOwnMetadata = (metadata: JsonObject | undefined): JsonObject | undefined => {
  const { parley: _ours, ...own } = metadata ?? {};
  return Object.keys(own).length > 0 ? own : undefined;
};

const toExtensions = (fields: JsonObject): JsonObject => {
  const own = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return Object.keys(own).length > 0 ? { [A2A]: own } : {};
};

export const toRequest = (
  sent: SendMessageRequest,
  options: RequestOptions,
  sender: string | undefined,
  /** At whose address it came. */
  agent?: string,
): TaskRequestCommand => {
  const from = resolveSender(options.from, sender);
  const { message, configuration, metadata } = sent;
  const { capability, to, priority, ttlSeconds, user, parent, dependencies, retry } = options;
  if (capability === undefined && to === undefined) {
    throw new ParleyError('invalid_message', `${LABEL} says neither which capability it needs nor which agent.`, {
      issues: [{ path: 'message.metadata.parley', message: 'must have "capability", "to" or both' }],
    });
  }
  return {
    kind: 'request',
    messageId: message.messageId,
    givenId: message.messageId,
    fingerprint: computeFingerprint([message, metadata, from]),
    from,
    taskId: message.messageId,
    capability: capability ?? MESSAGE_CAPABILITY,
    input: parseContent(message.parts),
    to,
    priority,
    ...toTimeToLive(ttlSeconds),
    ...toNotBefore(options.notBefore),
    limits: options.limits,
    conversation: message.contextId === '' ? undefined : message.contextId,
    user,
    parent,
    isSubtask: parent === undefined ? undefined : true,
    dependencyIds: dependencies,
    retry,
    maxAttempts: retry?.maxAttempts,
    extensions: toExtensions({
      messageId: message.messageId,
      metadata: pickOwnMetadata(metadata),
      messageMetadata: pickOwnMetadata(message.metadata),
      extensions: message.extensions,
      referenceTaskIds: message.referenceTaskIds,
      acceptedOutputModes: configuration?.acceptedOutputModes,
      agent,
    }),
  };
};

const toAnswer = (
  message: A2aMessage,
  taskId: string,
  options: RequestOptions,
  sender: string | undefined,
): Command => ({
  kind: 'answer',
  messageId: message.messageId,
  fingerprint: computeFingerprint(message),
  from: resolveSender(options.from, sender),
  taskId,
  answer: parseContent(message.parts),
});

const toDirectMessage = (
  { message, metadata }: SendMessageRequest,
  { to, type, priority, from: said, ttlSeconds }: RequestOptions,
  sender: string | undefined,
): DirectMessageCommand => {
  const from = resolveSender(said, sender);
  if (to === undefined) {
    throw new ParleyError('invalid_message', `${LABEL} of an agent must name its recipient.`, {
      issues: [{ path: 'message.metadata.parley.to', message: 'is required' }],
    });
  }
  return {
    kind: 'directMessage',
    messageId: message.messageId,
    fingerprint: computeFingerprint([message, metadata, from]),
    from,
    to,
    type: `${A2A}.${type}`,
    content: parseContent(message.parts),
    priority,
    ...toTimeToLive(ttlSeconds),
    correlation: message.taskId,
    extensions: toExtensions({
      contextId: message.contextId,
      metadata: pickOwnMetadata(metadata),
      messageMetadata: pickOwnMetadata(message.metadata),
      extensions: message.extensions,
    }),
  };
};

/** The sender stamps the time anew when it says the same again. */
const buildIdentity = (said: A2aTask, from: string) => {
  const { timestamp: _timestamp, ...status } = said.status;
  const fingerprint = computeFingerprint({ ...said, status, from });
  return {
    messageId: uuidFromSeed([A2A, said.id, from, fingerprint]),
    isIdentifiedByContent: true as const,
    fingerprint,
    from,
    taskId: said.id,
  };
};

const toReport = (said: A2aTask, sender: string | undefined): TaskReport => {
  const { status, metadata, artifacts = [] } = said;
  const { from, ...options } = toObjectOrEmpty(metadata?.parley);
  const about = buildIdentity(said, resolveSender(typeof from === 'string' ? from : undefined, sender));
  const { state, message } = status;
  const text = readText(message?.parts);
  const extensions = toExtensions({
    metadata: pickOwnMetadata(metadata),
    messageMetadata: pickOwnMetadata(message?.metadata),
  });
  const files = artifacts.length > 0 ? { artifacts: artifacts.map(toArtifact) } : {};
  switch (state) {
    case 'TASK_STATE_SUBMITTED':
      return { ...about, kind: 'claim', claimNote: toJsonObject({ message: text, ...pickOwnMetadata(metadata) }) };
    case 'TASK_STATE_WORKING':
      return {
        ...about,
        ...files,
        kind: 'progress',
        progress: { percent: parsePercent(options.percent), message: text, extensions },
      };
    case 'TASK_STATE_INPUT_REQUIRED':
    case 'TASK_STATE_AUTH_REQUIRED':
      return { ...about, ...files, kind: 'ask', prompt: toPrompt(said, options), extensions };
    case 'TASK_STATE_COMPLETED':
      return { ...about, kind: 'complete', ...parseOutput(artifacts, message?.parts), extensions };
    case 'TASK_STATE_FAILED':
    case 'TASK_STATE_REJECTED': {
      const isRejected = state === 'TASK_STATE_REJECTED';
      return {
        ...about,
        ...files,
        kind: 'fail',
        error: {
          code: typeof options.code === 'string' ? options.code.slice(0, 128) : isRejected ? REJECTED_CODE : 'failed',
          message: (text ?? `The agent says ${isRejected ? 'that it rejects the task' : 'that it failed'}.`).slice(
            0,
            4000,
          ),
          retryable: !isRejected && options.retryable !== false,
          details: buildErrorDetails(said),
        },
        isDecline: isRejected ? true : undefined,
        extensions,
      };
    }
    case 'TASK_STATE_CANCELED': {
      const why = text ?? `${about.from} cancelled the task.`;
      return { ...about, kind: 'cancel', error: { code: 'cancelled', message: why, retryable: false }, extensions };
    }
  }
};

/** The agent will not do it, so that another one may. */
export const REJECTED_CODE = 'rejected';

const parsePercent = (percent: unknown): number | undefined =>
  typeof percent === 'number' && percent >= 0 && percent <= 100 ? percent : undefined;

/** What the message has beside words. */
const buildErrorDetails = ({ status: { message } }: A2aTask): JsonObject | undefined => {
  const data = message?.parts.flatMap((part) => (part.data === undefined ? [] : [part.data])) ?? [];
  return data.length > 0 ? { data } : undefined;
};

const toPrompt = ({ status: { state, message } }: A2aTask, options: JsonObject): JsonObject => {
  const parts = message?.parts ?? [];
  const content = parseContent(parts);
  return toJsonObject({
    prompt: readText(parts) ?? 'The agent needs input.',
    kind: state === 'TASK_STATE_AUTH_REQUIRED' ? 'auth' : undefined,
    schema: options.schema,
    parts: parts.length === 0 || typeof content === 'string' ? undefined : parts.map(toJsonObject),
  });
};

const toArtifactReport = (
  { artifactUpdate }: { artifactUpdate: { taskId: string; artifact: Parameters<typeof toArtifact>[0] } },
  sender: string | undefined,
): TaskReport => {
  const { taskId: id, artifact } = artifactUpdate;
  const said: A2aTask = { id, status: { state: 'TASK_STATE_WORKING' }, artifacts: [artifact] };
  return toReport(said, sender);
};
