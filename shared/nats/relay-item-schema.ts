import * as z from 'zod';
import { boundedArray } from '../kernel/json/bounded-schemas.ts';
import { jsonObject, jsonValue } from '../kernel/json/parse-or-throw.ts';
import type { TaskOutcome } from '../model/delivery.ts';
import { type Progress, TASK_STATUSES, type TaskError } from '../model/task.ts';
import { PRIORITIES } from '../ports/queues.ts';
import type { RelayedReport, RelayItem } from './relay-item.ts';

/** Every field must be named here: what is not would be lost on its way to NATS. */
type SchemaFields<T> = Record<keyof T, z.ZodType>;

const NameSchema = z.string().min(1).max(512);
const text = z.string().optional();
const number = z.number().optional();

const ContentSchema = z.union([z.object({ json: jsonValue }), z.object({ blob: z.string(), bytes: z.number() })]);

const TaskErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  recoverable: z.boolean().optional(),
  retryAfterSeconds: number,
  attempts: number,
  backoff: z.enum(['exponential', 'linear', 'fixed']).optional(),
  agent: text,
  details: jsonObject.optional(),
} satisfies SchemaFields<TaskError>);

const ProgressSchema = z.object({
  at: z.number(),
  percent: number,
  message: text,
  subTasks: boundedArray(jsonValue, { max: 1000 }).optional(),
  blockers: boundedArray(z.string(), { max: 1000 }).optional(),
  confidence: number,
  extensions: jsonObject.optional(),
  auditEntry: jsonObject.optional(),
} satisfies SchemaFields<Progress>);

const taskFields = {
  project: z.string(),
  id: NameSchema,
  from: NameSchema,
  domain: text,
  priority: z.enum(PRIORITIES),
  ttlSeconds: z.number(),
  traceparent: z.string(),
  tracestate: text,
  baggage: text,
  extensions: jsonObject,
  holder: text,
  claimedAt: number,
  attempt: z.number(),
};

const ReportSchema = z.object({
  ...taskFields,
  conversation: text,
  v: z.number(),
  at: z.number(),
  status: z.enum(TASK_STATUSES),
  claimNote: jsonObject.optional(),
  progress: ProgressSchema.optional(),
  reportId: text,
  failedAttempt: TaskErrorSchema.optional(),
} satisfies SchemaFields<RelayedReport>);

const OutcomeSchema = z.object({
  id: NameSchema,
  from: NameSchema,
  to: NameSchema,
  happenedAt: z.number(),
  status: z.enum(TASK_STATUSES),
  task: z.object({
    ...taskFields,
    fromInstance: text,
    capability: z.string(),
    conversation: text,
    holderInstance: text,
    answerBy: number,
  } satisfies SchemaFields<TaskOutcome['task']>),
  output: ContentSchema.optional(),
  artifacts: z
    .object({
      index: boundedArray(jsonObject.and(z.object({ name: z.string(), type: z.string(), bytes: z.number() })), {
        max: 1000,
      }),
      content: ContentSchema,
    })
    .optional(),
  confidence: number,
  error: TaskErrorSchema.optional(),
  extensions: jsonObject,
  prompt: jsonObject.optional(),
  answer: jsonValue.optional(),
  questionId: text,
} satisfies SchemaFields<TaskOutcome>);

/** What the relay brings back is what Parley sent it, as long as nobody else has its key. */
export const RelayItemSchema: z.ZodType<RelayItem> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('request'), taskId: NameSchema, queueGeneration: z.number(), requeueCount: number }),
  z.object({ kind: z.literal('report'), task: ReportSchema }),
  z.object({ kind: z.literal('outcome'), outcome: OutcomeSchema }),
  z.object({ kind: z.literal('directMessage'), from: NameSchema, messageId: NameSchema }),
  z.object({ kind: z.literal('batch'), batchId: NameSchema }),
  z.object({ kind: z.literal('broadcast'), broadcastId: NameSchema }),
  z.object({ kind: z.literal('presence'), agent: NameSchema, isOnline: z.boolean(), at: z.number() }),
]);
