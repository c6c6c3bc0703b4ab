import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { expandShortId, SHORT_ID } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { assertMaxSize, isObject, type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import type { Command, DirectMessageCommand, TaskRequestCommand } from '../../model/command.ts';
import { assertSameMajorVersion, MAX_TTL_SECONDS, toNotBefore } from '../codec-helpers.ts';
import { toPriority } from './priorities.ts';
import { withProtocolError } from './protocol-error.ts';
import {
  DEFAULT_PRIORITY,
  hasMessageRoutingType,
  type MessageOfType,
  type MessageRoutingMessage,
  type NoteMessage,
  pickMessageSchema,
  UntypedMessageRoutingMessage,
} from './schema.ts';

export const MESSAGE_ROUTING = 'message-routing';
/** The version of the protocol that is spoken; another major version is refused. */
export const MESSAGE_ROUTING_VERSION = '1.0.0';
/** Of a task without a deadline. */
export const MESSAGE_ROUTING_TTL_SECONDS = 3600;

export const decode = (wire: JsonObject, config: Config): Command =>
  withProtocolError(wire, () => {
    assertMaxSize(MESSAGE_LABEL, wire, config.dialects[MESSAGE_ROUTING].messageBytes);
    assertSameMajorVersion(wire.version, MESSAGE_ROUTING_VERSION);
    if (!hasMessageRoutingType(wire))
      parseOrThrow(UntypedMessageRoutingMessage, wire, 'invalid_message', MESSAGE_LABEL);
    return toCommand(parseOrThrow(pickMessageSchema(wire), wire, 'invalid_message', MESSAGE_LABEL), config);
  });

const MESSAGE_LABEL = 'The message-routing message';

export const toCommand = (wire: MessageRoutingMessage, { dialects }: Config): Command => {
  const { acknowledgeMs, silentMs } = dialects[MESSAGE_ROUTING];
  switch (wire.type) {
    case 'task-delegation':
      return toRequestCommand(wire, acknowledgeMs);
    case 'result':
      return toOutcomeCommand(wire, acknowledgeMs);
    case 'status-update':
      return toReportCommand(wire, acknowledgeMs);
    case 'command':
      return toControlMessage(wire, acknowledgeMs);
    case 'heartbeat': {
      const { health, metrics = {}, uptime_ms } = wire.payload;
      const { cpu_usage, memory_mb, active_tasks } = metrics;
      return {
        ...toMessageIdentity(wire),
        kind: 'heartbeat',
        message: toDirectMessageCommand(wire, acknowledgeMs),
        heartbeat: {
          sentAt: Date.parse(wire.timestamp),
          status: health,
          silentMs,
          cpuUsage: cpu_usage,
          memoryMb: memory_mb,
          activeTaskCount: active_tasks,
          uptime: uptime_ms === undefined ? undefined : uptime_ms / 1000,
          version: wire.version,
        },
      };
    }
  }
};

type AnyMessage = MessageRoutingMessage | NoteMessage;

const toMessageIdentity = (wire: AnyMessage) => {
  const at = Date.parse(wire.timestamp);
  return {
    messageId: expandShortId(wire.from, wire.msg_id, at),
    givenId: wire.msg_id,
    fingerprint: computeFingerprint(wire),
    from: wire.from,
    sequenceInfo: { at, sequence: wire.sequence, to: wire.to },
  };
};

const toRequestCommand = (wire: MessageOfType<'task-delegation'>, acknowledgeMs: number): TaskRequestCommand => {
  const { context, metadata } = wire.payload;
  const first = metadata?.original_requester;
  const name = toMessageIdentity(wire);
  return {
    ...name,
    kind: 'request',
    taskId: name.messageId,
    to: wire.to,
    capability: `${MESSAGE_ROUTING}.${wire.type}`,
    domain: MESSAGE_ROUTING,
    priority: toPriority(wire.priority ?? DEFAULT_PRIORITY),
    ttlSeconds: computeTtlSeconds(context?.not_before ?? wire.timestamp, context?.deadline),
    ...toNotBefore(context?.not_before),
    limits: context?.limits,
    parent: wire.correlation_id,
    delegationChain: first === undefined || first === wire.from ? undefined : [first],
    dependencyShortIds: context?.dependencies?.filter((name) => SHORT_ID.test(name)),
    acknowledgeTimeoutMs: wire.requires_ack ? acknowledgeMs : undefined,
    input: toJsonObject(wire.payload),
    extensions: buildExtensions(wire),
  };
};

/** What is no more than told, under a type that the document does not have. */
export const toNote = (wire: NoteMessage, type: string, { dialects }: Config): DirectMessageCommand =>
  toDirectMessageCommand(wire, dialects[MESSAGE_ROUTING].acknowledgeMs, type);

/** Counted from when the sender wrote it, so that it need not have the same clock. */
const computeTtlSeconds = (timestamp: string, deadline: string | undefined): number => {
  if (deadline === undefined) return MESSAGE_ROUTING_TTL_SECONDS;
  const seconds = Math.ceil((Date.parse(deadline) - Date.parse(timestamp)) / 1000);
  if (seconds > 0) return Math.min(seconds, MAX_TTL_SECONDS);
  throw new ParleyError('invalid_message', `${MESSAGE_LABEL} is not valid: payload.context.deadline.`, {
    issues: [{ path: 'payload.context.deadline', message: 'must be later than the timestamp and not_before' }],
  });
};

const NO_TASK_NOTICE =
  'The result ends no task: it was delivered as a message. correlation_id names an open task that `to` gave to `from`.';

/** `partial` completes the task too, and says so in its output; so does a status that is encrypted. What follows is told as a message. */
const toOutcomeCommand = (wire: MessageOfType<'result'>, acknowledgeMs: number): Command => {
  const payload = toJsonObject(wire.payload);
  const about = {
    ...toTaskReference(wire, buildExtensions(wire, { payload })),
    fallback: { ...toDirectMessageCommand(wire, acknowledgeMs), notices: [NO_TASK_NOTICE] },
  };
  const { status, metrics, issues = [] } = wire.payload;
  const confidence = metrics?.confidence;
  if (status !== 'failure') {
    return {
      ...about,
      kind: 'complete',
      output: payload,
      confidence,
      extensions: buildExtensions(wire, { isPartial: toPartialFlag(status) }),
    };
  }
  const message = issues.join('\n') || 'The task failed.';
  const error = { code: FAILURE_CODE, message: message.slice(0, MAX_TEXT_LENGTH), retryable: false };
  return { ...about, kind: 'fail', error, extensions: about.reply.extensions };
};

/** The document has no codes: what fails is an ordinary failure, and for good. */
const FAILURE_CODE = 'internal_error';
const MAX_TEXT_LENGTH = 4000;

const toPartialFlag = (status: string | undefined): true | undefined => (status === 'partial' ? true : undefined);

/** About the task that it answers, or the only one that is open; where there is none, it is a message like any other. */
const toReportCommand = (wire: MessageOfType<'status-update'>, acknowledgeMs: number): Command => {
  const { status, progress, message, confidence, blockers } = wire.payload;
  const extensions = buildExtensions(wire, { payload: toJsonObject(wire.payload) });
  const about = {
    ...toTaskReference(wire, extensions),
    fallback: {
      ...toDirectMessageCommand(wire, acknowledgeMs),
      statusReport: status && { status, progress, message, confidence, blockers },
    },
  };
  if (status === 'failed') {
    const error = {
      code: FAILURE_CODE,
      message: (message ?? 'The task failed.').slice(0, MAX_TEXT_LENGTH),
      retryable: false,
    };
    return { ...about, kind: 'fail', error, extensions };
  }
  const percent = status === 'completed' ? 100 : progress && Number((progress * 100).toFixed(6));
  const update = {
    percent,
    message: message?.slice(0, MAX_TEXT_LENGTH),
    blockers: blockers?.length ? blockers : undefined,
    confidence,
    extensions,
  };
  if (status !== 'blocked') return { ...about, kind: 'progress', progress: update };
  const text = message || blockers?.join('\n') || 'What should be done?';
  const prompt = { prompt: text.slice(0, MAX_TEXT_LENGTH), blockers, resumable: true };
  return { ...about, kind: 'ask', prompt, extensions, progress: update };
};

const toControlMessage = (wire: MessageOfType<'command'>, acknowledgeMs: number): DirectMessageCommand => {
  const { action, parameters = {} } = wire.payload;
  const { reason, timeout_ms } = parameters;
  return {
    ...toDirectMessageCommand(wire, timeout_ms ?? acknowledgeMs),
    needsCoordinator: true,
    controlCommand: action && { action, reason, timeoutMs: timeout_ms },
  };
};

/** It answers what its recipient asked for, or asked about what it does. */
const toTaskReference = (wire: MessageRoutingMessage, extensions: JsonObject) => ({
  ...toMessageIdentity(wire),
  taskId: wire.correlation_id ?? '',
  requester: wire.to,
  followsResult: true as const,
  reply: { to: wire.to, content: toJsonObject(wire.payload), extensions },
});

const toDirectMessageCommand = (
  wire: AnyMessage,
  acknowledgeMs: number,
  type = `${MESSAGE_ROUTING}.${wire.type}`,
): DirectMessageCommand => ({
  ...toMessageIdentity(wire),
  kind: 'directMessage',
  to: wire.to,
  type,
  priority: toPriority(wire.priority ?? DEFAULT_PRIORITY),
  correlation: wire.correlation_id,
  acknowledgeTimeoutMs: wire.requires_ack ? acknowledgeMs : undefined,
  content: isObject(wire.payload) ? toJsonObject(wire.payload) : wire.payload,
  extensions: buildExtensions(wire),
});

const CANONICAL_FIELDS = ['msg_id', 'from', 'to', 'payload'];

/** What has no canonical place, under the dialect's name: version, time, sequence, the number that the priority is, and what is not in the document. */
const buildExtensions = (wire: AnyMessage, more: object = {}): JsonObject => {
  const envelope = Object.fromEntries(Object.entries(wire).filter(([field]) => !CANONICAL_FIELDS.includes(field)));
  return { [MESSAGE_ROUTING]: toJsonObject({ ...envelope, ...more }) };
};
