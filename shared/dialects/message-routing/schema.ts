import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { SHORT_ID } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { isObject, type JsonObject } from '../../kernel/json/json.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { MAX_SEQUENCE } from '../../model/command.ts';
import { Limits, NotBefore } from '../codec-helpers.ts';

/** Of a message that says none. */
export const DEFAULT_PRIORITY = 5;

/** A whole message in the document, as UTF-8; what comes from other dialects has no more. */
export const MAX_TRANSLATED_BYTES = 10 * 1024;

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
const msgId = z.string().regex(SHORT_ID, 'must be msg_ and 8 of 0-9 and a-f');
const time = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' });
const share = z.number().min(0, 'must be 0 to 1').max(1, 'must be 0 to 1');
const count = z.number().int().min(0);
/** A message has 10 KB. */
const texts = boundedArray(z.string(), { max: 1000 });

/** What every message has. Fields that are not named here are carried along. */
const envelope = {
  version: z.string().regex(/^\d{1,4}\.\d{1,4}\.\d{1,4}$/, 'must be a version such as 1.0.0'),
  msg_id: msgId.describe('unique for its sender and day'),
  from: agentId,
  to: agentId,
  timestamp: time,
  sequence: z.number().int().min(1).max(MAX_SEQUENCE).describe('counts what the sender sends to the recipient'),
  requires_ack: z.boolean().optional().meta({ default: false }),
  correlation_id: msgId
    .nullable()
    .optional()
    .transform((id) => id ?? undefined)
    .describe('the message that this one answers'),
  priority: z.number().int().min(0).max(10).optional().meta({ default: DEFAULT_PRIORITY }),
};

const StatusUpdatePayload = z.looseObject({
  status: z.enum(['in_progress', 'completed', 'failed', 'blocked']),
  progress: share.optional(),
  message: z.string().optional(),
  confidence: share.optional(),
  blockers: texts.optional(),
});

const TaskDelegationPayload = z.looseObject({
  task: z.string().min(1),
  context: z
    .looseObject({
      files: texts.optional(),
      dependencies: texts.optional(),
      deadline: time.optional(),
      not_before: NotBefore,
      limits: Limits,
    })
    .optional(),
  metadata: z
    .looseObject({ original_requester: agentId.optional(), delegation_reason: z.string().optional() })
    .optional(),
});

const ResultPayload = z.looseObject({
  status: z.enum(['success', 'failure', 'partial']),
  deliverables: z
    .looseObject({ files_modified: texts.optional(), tests_added: texts.optional(), artifacts: texts.optional() })
    .optional(),
  metrics: z
    .looseObject({ confidence: share.optional(), test_coverage: share.optional(), duration_ms: count.optional() })
    .optional(),
  issues: texts.optional(),
  next_steps: texts.optional(),
});

/** Longer than any agent is away on purpose. */
const MAX_TIMEOUT_MS = 7 * DAY_MS;

export const CONTROL_ACTIONS = ['start', 'pause', 'resume', 'stop', 'health_check'] as const;

const CommandPayload = z.looseObject({
  action: z.enum(CONTROL_ACTIONS),
  parameters: z
    .looseObject({
      reason: z.string().optional(),
      timeout_ms: z.number().int().min(1).max(MAX_TIMEOUT_MS).optional(),
    })
    .optional(),
});

const HeartbeatPayload = z.looseObject({
  health: z.enum(['healthy', 'degraded', 'unhealthy']),
  metrics: z
    .looseObject({
      cpu_usage: share.optional(),
      memory_mb: z.number().min(0).optional(),
      active_tasks: count.optional(),
    })
    .optional(),
  uptime_ms: count.optional(),
});

const defineMessage = <T extends string, P extends z.ZodType>(type: T, payload: P) =>
  z.looseObject({ ...envelope, type: z.literal(type), payload });

const MessageRoutingMessage = z.discriminatedUnion('type', [
  defineMessage('status-update', StatusUpdatePayload),
  defineMessage('task-delegation', TaskDelegationPayload),
  defineMessage('result', ResultPayload),
  defineMessage('command', CommandPayload),
  defineMessage('heartbeat', HeartbeatPayload),
]);

const allowEncrypted = <S extends z.ZodRawShape>(payload: z.ZodObject<S, z.core.$loose>) =>
  payload.partial().extend({ encrypted: jsonObject });

/** Only its recipient can read `encrypted`. What stands beside it is as in any other message, and may be missing. */
const EncryptedMessage = z.discriminatedUnion('type', [
  defineMessage('status-update', allowEncrypted(StatusUpdatePayload)),
  defineMessage('task-delegation', allowEncrypted(TaskDelegationPayload)),
  defineMessage('result', allowEncrypted(ResultPayload)),
  defineMessage('command', allowEncrypted(CommandPayload)),
  defineMessage('heartbeat', allowEncrypted(HeartbeatPayload)),
]);

/** As `GET /schemas/message-routing.json` has them. */
export const PublishedMessage = z.discriminatedUnion('type', [
  defineMessage('status-update', z.union([StatusUpdatePayload, allowEncrypted(StatusUpdatePayload)])),
  defineMessage('task-delegation', z.union([TaskDelegationPayload, allowEncrypted(TaskDelegationPayload)])),
  defineMessage('result', z.union([ResultPayload, allowEncrypted(ResultPayload)])),
  defineMessage('command', z.union([CommandPayload, allowEncrypted(CommandPayload)])),
  defineMessage('heartbeat', z.union([HeartbeatPayload, allowEncrypted(HeartbeatPayload)])),
]);

export type MessageRoutingMessage = z.output<typeof MessageRoutingMessage> | z.output<typeof EncryptedMessage>;
export type MessageOfType<T extends MessageRoutingMessage['type']> = Extract<MessageRoutingMessage, { type: T }>;

export const MESSAGE_ROUTING_TYPES = MessageRoutingMessage.options.map((option) => option.shape.type.value);

/** For a message of no known type, which is to learn what else is wrong with it. */
export const UntypedMessageRoutingMessage = z.looseObject({
  ...envelope,
  type: z.enum(MESSAGE_ROUTING_TYPES, `must be one of ${MESSAGE_ROUTING_TYPES.join(', ')}`),
  payload: jsonObject,
});

/** What is delivered as it is, whatever its type. */
export const NoteMessage = z.looseObject({ ...envelope, type: z.string(), payload: jsonValue });
export type NoteMessage = z.output<typeof NoteMessage>;

/** By which a message of a known type is checked. */
export const pickMessageSchema = (message: JsonObject): z.ZodType<MessageRoutingMessage> =>
  isEncrypted(message) ? EncryptedMessage : MessageRoutingMessage;

const isEncrypted = ({ payload }: { payload?: unknown }): boolean => isObject(payload) && isObject(payload.encrypted);

export const hasMessageRoutingType = ({ type }: JsonObject): boolean =>
  MESSAGE_ROUTING_TYPES.some((known) => known === type);
