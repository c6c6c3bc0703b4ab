import * as z from 'zod';
import type { Outcome } from '../inbox/delivery.ts';
import { jsonObject, jsonValue } from '../json/checked.ts';
import { PRIORITIES } from '../ports/queues.ts';
import { type Progress, STATUSES, type TaskError } from '../tasks/task.ts';
import type { Ask, ReportedOnNats } from './relayed.ts';

/** Every field must be named here: what is not would be lost on its way to NATS. */
type Fields<T> = Record<keyof T, z.ZodType>;

const Name = z.string().min(1).max(512);
const text = z.string().optional();
const number = z.number().optional();

const Content = z.union([z.object({ json: jsonValue }), z.object({ blob: z.string(), bytes: z.number() })]);

const Failure = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  retryAfterSeconds: number,
  attempts: number,
  backoff: z.enum(['exponential', 'linear', 'fixed']).optional(),
  agent: text,
  details: jsonObject.optional(),
} satisfies Fields<TaskError>);

const Said = z.object({
  at: z.number(),
  percent: number,
  message: text,
  subTasks: z.array(jsonValue).optional(),
  blockers: z.array(z.string()).optional(),
  confidence: number,
  carried: jsonObject.optional(),
  told: jsonObject.optional(),
} satisfies Fields<Progress>);

const about = {
  project: z.string(),
  id: Name,
  from: Name,
  domain: text,
  priority: z.enum(PRIORITIES),
  ttlSeconds: z.number(),
  traceparent: z.string(),
  carried: jsonObject,
  holder: text,
  claimedAt: number,
  attempt: z.number(),
};

const Report = z.object({
  ...about,
  v: z.number(),
  at: z.number(),
  status: z.enum(STATUSES),
  tracestate: text,
  claimNote: jsonObject.optional(),
  progress: Said.optional(),
} satisfies Fields<ReportedOnNats>);

const Ended = z.object({
  id: Name,
  from: Name,
  to: Name,
  happenedAt: z.number(),
  status: z.enum(STATUSES),
  task: z.object({
    ...about,
    fromInstance: text,
    capability: z.string(),
    holderInstance: text,
  } satisfies Fields<Outcome['task']>),
  output: Content.optional(),
  artifacts: z
    .object({
      index: z.array(jsonObject.and(z.object({ name: z.string(), type: z.string(), bytes: z.number() }))),
      content: Content,
    })
    .optional(),
  confidence: number,
  error: Failure.optional(),
  carried: jsonObject,
  prompt: jsonObject.optional(),
  answer: jsonValue.optional(),
} satisfies Fields<Outcome>);

/** What the relay brings back is what Parley sent it, as long as nobody else has its key. */
export const Asked: z.ZodType<Ask> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('request'), taskId: Name, entry: z.number() }),
  z.object({ kind: z.literal('report'), task: Report }),
  z.object({ kind: z.literal('outcome'), outcome: Ended }),
  z.object({ kind: z.literal('note'), from: Name, noteId: Name }),
  z.object({ kind: z.literal('batch'), batchId: Name }),
  z.object({ kind: z.literal('broadcast'), broadcastId: Name }),
  z.object({ kind: z.literal('presence'), agent: Name, isOnline: z.boolean(), at: z.number() }),
]);
