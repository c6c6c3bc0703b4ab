import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { STEP_NAME, STEP_NAME_RULE } from '../../model/step.ts';
import { MAX_DEPENDENCIES, ON_FAILURE } from '../../model/task.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { EvidenceChain } from '../agent-os/evidence.ts';
import { Limits, NotBefore } from '../codec-helpers.ts';
import { ArtifactSchema } from '../task-format/schema.ts';

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
const id = z.string().regex(CLIENT_ID, CLIENT_ID_RULE).overwrite(toCanonicalId);
const text = z.string().max(4000);
const label = z.string().min(1).max(256);
const seconds = z.number().int().min(1).max(604_800);

const metadata = jsonObject.optional().describe('carried along');
const from = { from: agentId.optional().describe('required where an admin key sends it') };

export const Request = z.strictObject({
  ...from,
  kind: z.literal('request'),
  id: id.describe('of the task; unique'),
  capability: z.string().min(1).max(128),
  input: jsonValue.optional(),
  to: agentId.optional().describe('by default any provider of the capability'),
  priority: z.enum(PRIORITIES).default('normal'),
  ttlSeconds: seconds.default(3600).describe('how long the task may wait for a claim'),
  notBefore: NotBefore,
  limits: Limits,
  conversation: label.optional(),
  user: label.optional(),
  parent: id.optional().describe('the task that this is a part of'),
  dependencies: boundedArray(id, { max: MAX_DEPENDENCIES }).optional().describe('tasks that must be completed first'),
  onFailure: z.enum(ON_FAILURE).optional().describe('what happens if a dependency is not completed'),
  retry: z
    .strictObject({
      maxAttempts: z.number().int().min(1).max(10).optional(),
      backoff: z.enum(['exponential', 'linear', 'fixed']).optional(),
      initialMs: z.number().int().min(0).max(300_000).optional(),
    })
    .optional(),
  metadata,
});
export type Request = z.output<typeof Request>;

const report = {
  ...from,
  id: id.optional().describe('by default derived from the content'),
  taskId: id,
  attempt: z.number().int().min(1).optional().describe('rejects the report if the task is at another attempt'),
  metadata,
};

export const Report = z.discriminatedUnion('kind', [
  z.strictObject({ ...report, kind: z.literal('claim'), estimateSeconds: seconds.optional() }),
  z.strictObject({
    ...report,
    kind: z.literal('progress'),
    percent: z.number().min(0).max(100).optional(),
    message: text.optional(),
  }),
  z.strictObject({
    ...report,
    kind: z.literal('result'),
    output: jsonValue.optional(),
    confidence: z.number().min(0).max(1).optional(),
    evidence: EvidenceChain.omit({ confidence: true })
      .refine(({ sources }) => sources.length > 0, { path: ['sources'], error: 'must name at least one source' })
      .optional()
      .describe('what the output rests on, for readers whose protocol has a place for it'),
    artifacts: boundedArray(ArtifactSchema, { max: 64 })
      .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'must have names that differ')
      .optional(),
  }),
  z.strictObject({
    ...report,
    kind: z.literal('failure'),
    code: z.string().min(1).max(128),
    message: text,
    retryable: z.boolean().default(false),
    retryAfterSeconds: z.number().min(0).max(86_400).optional(),
    details: jsonObject.optional(),
  }),
  z.strictObject({ ...report, kind: z.literal('release') }),
  z.strictObject({
    ...report,
    kind: z.literal('question'),
    prompt: text.min(1),
    schema: jsonObject.optional().describe('JSON Schema that the answer must have'),
    step: z.string().regex(STEP_NAME, STEP_NAME_RULE).optional().describe('the step that keeps the answer'),
    requeue: z
      .literal(true)
      .optional()
      .describe('the answer returns the task to its queue; the attempt does not count'),
  }),
]);
export type Report = z.output<typeof Report>;

export const Answer = z.strictObject({ ...from, kind: z.literal('answer'), taskId: id, answer: jsonValue });
export type Answer = z.output<typeof Answer>;

export const Message = z.strictObject({
  ...from,
  kind: z.literal('message'),
  id,
  to: agentId,
  type: z.string().min(1).max(128).default('message'),
  content: jsonValue,
  priority: z.enum(PRIORITIES).default('normal'),
  ttlSeconds: seconds.optional(),
  correlation: id.optional().describe('the message or task that it belongs to'),
  metadata,
});
export type Message = z.output<typeof Message>;

export const NativeMessage = z.union([Request, Report, Answer, Message]);

const SCHEMAS = new Map<string, z.ZodType>([
  ['request', Request],
  ['answer', Answer],
  ['message', Message],
  ...Report.options.map((option): [string, z.ZodType] => [option.shape.kind.value, Report]),
]);

export const KINDS = [...SCHEMAS.keys()];

const UnknownKind = z.looseObject({ kind: z.enum(KINDS) });

export const pickNativeSchema = (kind: unknown): z.ZodType =>
  (typeof kind === 'string' ? SCHEMAS.get(kind) : undefined) ?? UnknownKind;

export const FIELD_NAMES = [
  ...new Set([Request, ...Report.options, Answer, Message].flatMap((schema) => Object.keys(schema.shape))),
];
