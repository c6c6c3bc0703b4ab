import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { Limits, MAX_TTL_SECONDS, NotBefore, TimeToLive } from '../codec-helpers.ts';

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
const text = z.string().max(4000);
const seconds = z.number().min(0).max(MAX_TTL_SECONDS);
const attempt = z
  .number()
  .int()
  .min(1)
  .optional()
  .describe('the attempt that the claim named; an older one is refused');

/** What profiles write in other forms. */
interface EnvelopeFields {
  id: z.ZodType<string>;
  version: z.ZodType<string>;
  timestamp: z.ZodType<string | undefined>;
  /** The id of a task, as other messages name it. */
  reference: z.ZodType<string>;
}

/** What every message has. Fields that are not named here are carried along. */
const buildEnvelope = ({ id, version, timestamp }: EnvelopeFields) => ({
  id,
  version,
  from: agentId,
  to: agentId.optional(),
  timestamp,
  priority: z.enum(PRIORITIES).default('normal'),
  ttl: TimeToLive,
  notBefore: NotBefore,
  limits: Limits,
});

const DOCUMENT_FIELDS: EnvelopeFields = {
  id: z.uuidv4('must be a UUID, version 4').toLowerCase(),
  version: z.string().regex(/^\d{1,4}\.\d{1,4}(\.\d{1,4})?$/, 'must be a version such as 1.0 or 1.0.0'),
  timestamp: z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' }),
  reference: z.guid('must be a UUID').toLowerCase(),
};

/** Each code with whether it is tried again; `internal_error` may be, once. The document does not have `cancelled`. */
export const ROUND_TABLE_ERROR_CODES = {
  rate_limited: { retryable: true },
  timeout: { retryable: true },
  model_error: { retryable: true },
  skill_missing: { retryable: false },
  invalid_params: { retryable: false },
  internal_error: { retryable: true, attempts: 2 },
  cancelled: { retryable: false },
} as const;

export type RoundTableErrorCode = keyof typeof ROUND_TABLE_ERROR_CODES;
export const isRoundTableErrorCode = (code: string): code is RoundTableErrorCode =>
  Object.hasOwn(ROUND_TABLE_ERROR_CODES, code);

const errorCode = z
  .string()
  .min(1)
  .max(128)
  .describe(`${Object.keys(ROUND_TABLE_ERROR_CODES).join(', ')}, or any other, which is treated as internal_error`);

/** Knights that write text write nothing else. */
const result = z.union([jsonObject, z.string()], 'must be an object or a text');

const failure = {
  message: text.optional(),
  retryable: z.boolean().optional(),
  retryAfterSeconds: seconds.optional(),
  attempt,
};

const MAX_TOPIC_LENGTH = 128;
const TOPIC_PATTERN = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/;

/** What another dialect asks for may be called anything: as a topic it has a domain, and an action that can stand in a subject. */
export const toTopic = (capability: string, domain: string): string => {
  if (capability.length <= MAX_TOPIC_LENGTH && TOPIC_PATTERN.test(capability)) return capability;
  const action = capability.startsWith(`${domain}.`) ? capability.slice(domain.length + 1) : capability;
  const name = action.toLowerCase().replace(/[^a-z0-9_-]+/g, '-') || '-';
  return `${domain}.${name}`.slice(0, MAX_TOPIC_LENGTH);
};

const TaskRequestPayload = z.looseObject({
  task: z.string().max(MAX_TOPIC_LENGTH).regex(TOPIC_PATTERN, 'must be <domain>.<action>'),
  params: jsonObject.default({}),
  responseFormat: z.string().max(64).optional(),
  maxTokens: z.number().int().min(1).optional(),
});

const TaskClaimedPayload = z.looseObject({ estimatedDurationSeconds: seconds.optional(), message: text.optional() });

const TaskProgressPayload = z.looseObject({
  percent: z.number().min(0).max(100).optional(),
  message: text.optional(),
  subTasks: boundedArray(
    z.looseObject({ id: z.string().max(128), status: z.string().max(64), description: text.optional() }),
    { max: 100 },
  ).optional(),
  attempt,
});

const TaskResultPayload = z.discriminatedUnion('status', [
  z.looseObject({ status: z.literal('completed').optional(), result, attempt }),
  z.looseObject({ status: z.literal('failed'), result: result.optional(), error: errorCode.optional(), ...failure }),
]);

const TaskFailedPayload = z.looseObject({
  error: errorCode,
  ...failure,
  release: z.boolean().optional().describe('the task is given back at once, and no attempt is spent'),
});

const HeartbeatPayload = z.looseObject({
  status: z.string().min(1).max(64).default('healthy'),
  uptime: z.number().min(0).optional(),
  capabilities: boundedArray(z.string().min(1).max(128), { max: 256 }).optional(),
  activeTaskCount: z.number().int().min(0).optional(),
  model: z.string().max(128).optional(),
  version: z.string().max(64).optional(),
  instance: z.string().min(1).max(128).optional().describe('which of its instances lives, where claims name them'),
});

/** For all agents, or those that `Parley-Broadcast` names. */
const BROADCAST_TYPES = ['broadcast.config-update', 'broadcast.maintenance', 'broadcast.alert'] as const;

export const buildMessageSchema = (fields: EnvelopeFields) => {
  const envelope = buildEnvelope(fields);
  const { reference } = fields;
  const aboutParent = { ...envelope, correlationId: reference.optional().describe('the id of the parent task') };
  const aboutAnything = { ...envelope, correlationId: reference.optional() };
  const aboutTask = { ...envelope, correlationId: reference.describe('the id of the task') };
  return z.discriminatedUnion('type', [
    z.looseObject({ ...aboutParent, type: z.literal('task.request'), payload: TaskRequestPayload }),
    z.looseObject({ ...aboutTask, type: z.literal('task.claimed'), payload: TaskClaimedPayload }),
    z.looseObject({ ...aboutTask, type: z.literal('task.progress'), payload: TaskProgressPayload }),
    z.looseObject({ ...aboutTask, type: z.literal('task.result'), payload: TaskResultPayload }),
    z.looseObject({ ...aboutTask, type: z.literal('task.failed'), payload: TaskFailedPayload }),
    z.looseObject({ ...aboutAnything, type: z.literal('heartbeat'), payload: HeartbeatPayload }),
    z.looseObject({ ...aboutAnything, type: z.literal(BROADCAST_TYPES), payload: jsonObject }),
  ]);
};

export const RoundTableMessage = buildMessageSchema(DOCUMENT_FIELDS);
export type RoundTableMessage = z.output<typeof RoundTableMessage>;

export const ROUND_TABLE_TYPES = RoundTableMessage.options.flatMap((option) => [...option.shape.type.values]);

/** For a message that does not say which of them it is, and is to learn what else is wrong with it. */
export const UntypedRoundTableMessage = z.looseObject({
  ...buildEnvelope(DOCUMENT_FIELDS),
  type: z.enum(ROUND_TABLE_TYPES),
  correlationId: DOCUMENT_FIELDS.reference.optional(),
  payload: jsonObject,
});

export const hasRoundTableType = ({ type }: JsonObject): boolean => ROUND_TABLE_TYPES.some((known) => known === type);
