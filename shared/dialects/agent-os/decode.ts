import { ParleyError } from '../../kernel/errors.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { isObject, type Json, type JsonObject, toJsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import type { Command, DirectMessageCommand, TaskRequestCommand } from '../../model/command.ts';
import type { Progress, TaskError } from '../../model/task.ts';
import { assertSameMajorVersion, omitStamps, toNotBefore, toTimeToLive } from '../codec-helpers.ts';
import { AGENT_OS_ERROR_CODES, isAgentOsErrorCode } from './error-codes.ts';
import { isFabricated } from './evidence.ts';
import {
  AGENT_OS_TYPES,
  type AgentOsMessage,
  type ErrorContent,
  hasAgentOsType,
  AgentOsMessage as Messages,
  UntypedAgentOsMessage,
} from './schema.ts';
import { withBrokenRules } from './validation-rules.ts';

/** The version of the schema that is spoken; another major version is refused. */
export const AGENT_OS_VERSION = '1.0.0';
export const AGENT_OS = 'agent-os';

export const decode = (wire: JsonObject): Command => {
  assertSameMajorVersion(wire.version, AGENT_OS_VERSION);
  if (typeof wire.type === 'string' && !hasAgentOsType(wire)) {
    throw new ParleyError(
      'unknown_type',
      `AgentOS has no type "${wire.type.slice(0, 64)}". Known: ${AGENT_OS_TYPES.join(', ')}.`,
      { details: { known: AGENT_OS_TYPES } },
    );
  }
  return withBrokenRules(wire, () => {
    if (wire.type === undefined || typeof wire.type !== 'string')
      parseOrThrow(UntypedAgentOsMessage, wire, 'invalid_message', MESSAGE_LABEL);
    return toCommand(parseOrThrow(Messages, wire, 'invalid_message', MESSAGE_LABEL));
  });
};

const MESSAGE_LABEL = 'The agent-os message';

const toCommand = (wire: AgentOsMessage): Command => {
  if (!REQUEST_TYPES.has(wire.type) && isFabricated(wire.payload.content, wire.evidence))
    return toFabricationViolation(wire);
  const about =
    wire.replyTo === undefined ? undefined : { ...toMessageIdentity(wire), taskId: toCanonicalId(wire.replyTo) };
  switch (wire.type) {
    case 'query':
      return toQueryCommand(wire);
    case 'command':
      return toRequestCommand(wire);
    case 'response': {
      const answer = { ...toMessageIdentity(wire), taskId: toCanonicalId(wire.replyTo) };
      const confidence = wire.evidence.confidence / 100;
      const extensions = buildExtensions(wire, pickControlFields(wire));
      return {
        ...answer,
        kind: 'complete',
        output: wire.payload.content,
        confidence,
        extensions,
        reply: {
          to: wire.to.agentId,
          content: wire.payload.content,
          extensions: { [AGENT_OS]: { ...toObjectOrEmpty(extensions[AGENT_OS]), replyTo: wire.replyTo } },
        },
      };
    }
    case 'error': {
      const error = toTaskError(wire.payload.content);
      const content = toJsonObject(wire.payload.content);
      if (about)
        return {
          ...about,
          kind: 'fail',
          error,
          extensions: buildExtensions(wire, { content, ...pickControlFields(wire) }),
        };
      const thread = wire.context?.requestId;
      return {
        ...toDirectMessageCommand(wire, content),
        failsRequest: thread === undefined ? undefined : { requestId: thread, error },
      };
    }
    case 'event': {
      const directMessage = toDirectMessageCommand(wire, wire.payload.content);
      return about
        ? { ...about, kind: 'progress', progress: toProgress(wire), fallback: directMessage }
        : directMessage;
    }
    case 'validation':
    case 'correction': {
      const request = toRequestCommand(wire);
      const answer = { output: wire.payload.content, extensions: buildExtensions(wire, pickControlFields(wire)) };
      return about ? { ...about, ...answer, kind: 'complete', fallback: request } : request;
    }
    case 'evidence':
      return toDirectMessageCommand(wire, wire.payload.content);
    case 'gap':
      return { ...toDirectMessageCommand(wire, wire.payload.content), isGap: true };
  }
};

const toMessageIdentity = (wire: AgentOsMessage) => ({
  messageId: toCanonicalId(wire.id),
  givenId: wire.id,
  fingerprint: computeFingerprint({
    ...omitStamps(toJsonObject(wire)),
    id: toCanonicalId(wire.id),
    replyTo: wire.replyTo && toCanonicalId(wire.replyTo),
  }),
  from: wire.from.agentId,
  auditEntry: { evidenceCount: wire.evidence.sources.length, confidenceScore: wire.evidence.confidence },
});

/** Always for one agent, so that the domain says only where the task comes from. */
const toRequestCommand = (wire: Exclude<AgentOsMessage, { type: 'error' }>): TaskRequestCommand => ({
  ...toMessageIdentity(wire),
  kind: 'request',
  taskId: toCanonicalId(wire.id),
  to: wire.to.agentId,
  instance: wire.to.instanceId,
  fromInstance: wire.from.instanceId,
  capability: `${AGENT_OS}.${wire.type}`,
  domain: AGENT_OS,
  boundsAnswer: true,
  priority: wire.priority,
  ...toTimeToLive(wire.ttl),
  ...toNotBefore(wire.notBefore),
  limits: wire.limits,
  parent: wire.replyTo && toCanonicalId(wire.replyTo),
  requestId: wire.context?.requestId,
  conversation: wire.context?.conversationId,
  user: wire.context?.userId,
  input: wire.payload.content,
  extensions: buildExtensions(wire, { replyTo: wire.replyTo }),
});

/** About a task that its sender does for its recipient, it is a question. The work goes on without an answer. */
const toQueryCommand = (wire: Extract<AgentOsMessage, { type: 'query' }>): Command => {
  const request = { ...toRequestCommand(wire), isQuestion: true as const };
  if (wire.replyTo === undefined) return request;
  const { content } = wire.payload;
  return {
    ...toMessageIdentity(wire),
    kind: 'ask',
    taskId: toCanonicalId(wire.replyTo),
    prompt: { prompt: toQuestionText(content), content, resumable: true },
    extensions: buildExtensions(wire, { replyTo: wire.replyTo, ...pickControlFields(wire) }),
    fallback: request,
  };
};

const MAX_QUESTION_LENGTH = 4000;

const toQuestionText = (content: Json): string => {
  const { question, prompt, message } = toObjectOrEmpty(content);
  const text = [content, question, prompt, message].find((value) => typeof value === 'string' && value !== '');
  return (typeof text === 'string' ? text : JSON.stringify(content)).slice(0, MAX_QUESTION_LENGTH);
};

const toDirectMessageCommand = (wire: AgentOsMessage, content: Json): DirectMessageCommand => ({
  ...toMessageIdentity(wire),
  kind: 'directMessage',
  to: wire.to.agentId,
  instance: wire.to.instanceId,
  type: `${AGENT_OS}.${wire.type}`,
  priority: wire.priority,
  ...toTimeToLive(wire.ttl),
  correlation: wire.replyTo && toCanonicalId(wire.replyTo),
  content,
  extensions: buildExtensions(wire, { replyTo: wire.replyTo }),
});

/** A question or an order states nothing, however sure its sender is of it. */
const REQUEST_TYPES: ReadonlySet<string> = new Set(['query', 'command']);

const toFabricationViolation = (wire: AgentOsMessage): Command => ({
  ...toMessageIdentity(wire),
  kind: 'violation',
  code: 'fabrication_detected',
  law: 'R0',
  severity: 'critical',
  action: 'blocked',
  detail: `It claims ${wire.evidence.confidence} % confidence and names no source.`,
  taskId: wire.replyTo && toCanonicalId(wire.replyTo),
  to: wire.to.agentId,
});

/** Who fails may give up where the table allows another try, but not the other way round. */
const toTaskError = ({ code, message, details, recoverable, suggestion }: ErrorContent): TaskError => {
  const rule = AGENT_OS_ERROR_CODES[isAgentOsErrorCode(code) ? code : 'SOURCE_ERROR'];
  const retryable = rule.recoverable && recoverable !== false;
  const isSilent = (details ?? suggestion) === undefined;
  return {
    code,
    message,
    retryable,
    recoverable: recoverable === retryable ? undefined : recoverable,
    details: isSilent ? undefined : toJsonObject({ ...toDetailsObject(details ?? undefined), suggestion }),
  };
};

const toDetailsObject = (details: unknown): object => {
  if (isObject(details)) return details;
  return details === undefined ? {} : { details };
};

const toProgress = (wire: Extract<AgentOsMessage, { type: 'event' }>): Omit<Progress, 'at'> => {
  const { content } = wire.payload;
  const { percent, message } = isObject(content) ? content : {};
  return {
    percent: typeof percent === 'number' && percent >= 0 && percent <= 100 ? percent : undefined,
    message: typeof message === 'string' ? message.slice(0, 4000) : undefined,
    extensions: buildExtensions(wire, { content, ...pickControlFields(wire) }),
  };
};

/** A task has its own; an answer to it may say others. */
const pickControlFields = ({ priority, ttl }: AgentOsMessage) => ({ priority, ttl });

/** What has a canonical place. */
const CANONICAL_FIELDS = ['replyTo', 'priority', 'ttl', 'payload'];

/** All that has no canonical place, under the dialect's name: ids as they were written, instances, context, evidence. */
const buildExtensions = (wire: AgentOsMessage, more: object = {}): JsonObject => {
  const envelope = Object.fromEntries(Object.entries(wire).filter(([field]) => !CANONICAL_FIELDS.includes(field)));
  const { content: _content, ...payload } = wire.payload;
  return { [AGENT_OS]: toJsonObject({ ...envelope, payload: toJsonObject(payload), ...more }) };
};
