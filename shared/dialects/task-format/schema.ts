import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
const taskId = z.string().regex(CLIENT_ID, CLIENT_ID_RULE).overwrite(toCanonicalId);
const time = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' });
const text = z.string().max(4000);
const label = z.string().max(256);
const count = z.number().int().min(0);

const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const;
const BACKOFFS = ['exponential', 'linear', 'fixed'] as const;
const MAX_DELAY_MS = 300_000;

const Observability = z.looseObject({
  traceId: label.optional(),
  spanId: label.optional(),
  baggage: jsonObject.optional(),
});

/** Blocks take what is not named here, and carry it along; the message itself does not, for its keys are what it is known by. */
export const TaskRequest = z.strictObject({
  id: taskId.describe('unique; a UUID is recommended'),
  type: z.string().min(1).max(128).describe('the capability that the task needs'),
  payload: jsonObject,
  context: z
    .looseObject({
      conversationId: label.optional(),
      parentTaskId: taskId.optional(),
      user: label.optional(),
      timestamp: time.optional(),
      priority: z.enum(PRIORITIES).default('normal'),
    })
    .prefault({}),
  routing: z
    .looseObject({
      source: agentId.optional(),
      target: agentId.optional(),
      delegationChain: boundedArray(agentId, { max: 64 }).optional(),
    })
    .prefault({}),
  observability: Observability.prefault({}),
  retryPolicy: z
    .strictObject({
      maxAttempts: z.number().int().min(1).max(10).optional(),
      backoffType: z.enum(BACKOFFS).optional(),
      initialDelay: z.number().int().min(0).max(MAX_DELAY_MS).optional().describe('milliseconds'),
    })
    .optional(),
});
export type TaskRequest = z.output<typeof TaskRequest>;

const Metadata = z.looseObject({
  startedAt: time.optional(),
  completedAt: time.optional(),
  duration_ms: count.optional(),
  agent: agentId.optional(),
  retryCount: count.optional(),
  progress: z.number().min(0).max(100).optional().describe('percent'),
  message: text.optional(),
});

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(; ?[\w-]{1,64}=("[\w .:+-]{1,64}"|[\w.:+-]{1,64}))*$/;

/** What a decoder would pass over. */
const NON_BASE64_CHARACTER = /[^\w+/=\s-]/;

export const ArtifactSchema = z
  .looseObject({
    name: z
      .string()
      .regex(/^(?!\.\.?$)[^\p{Cc}]{1,255}$/u, 'must be 1 to 255 characters, no control characters nor dots alone'),
    type: z.string().max(255).regex(MEDIA_TYPE, 'must be a media type'),
    content: z.string(),
    encoding: z.enum(['base64']).optional().describe('where the content is not text'),
  })
  .refine(({ content, encoding }) => encoding === undefined || !NON_BASE64_CHARACTER.test(content), {
    path: ['content'],
    error: 'must be base64',
  });

const response = {
  id: taskId.describe('of the task'),
  metadata: Metadata.prefault({}),
  observability: Observability.optional(),
};

export const TaskResponse = z.discriminatedUnion('status', [
  z.strictObject({ ...response, status: z.literal('pending') }),
  z.strictObject({ ...response, status: z.literal('in_progress') }),
  z.strictObject({
    ...response,
    status: z.literal('completed'),
    result: jsonValue.optional(),
    artifacts: boundedArray(ArtifactSchema, { max: 64 })
      .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'must have names that differ')
      .optional(),
  }),
  z.strictObject({
    ...response,
    status: z.literal('failed'),
    error: z.looseObject({
      code: z.string().min(1).max(128),
      message: text,
      details: jsonObject.optional(),
      recoverable: z.boolean().optional(),
    }),
  }),
  z.strictObject({ ...response, status: z.literal('cancelled') }),
  z.strictObject({
    ...response,
    status: z.literal('input_required'),
    input: z.looseObject({
      prompt: text.min(1),
      schema: jsonObject.optional().describe('JSON Schema that the answer must have'),
      state: jsonValue.optional().describe('given back with the answer'),
    }),
  }),
]);
export type TaskResponse = z.output<typeof TaskResponse>;

/** The answer to `input_required`. */
export const TaskUpdate = z.strictObject({ id: taskId, input: jsonValue });
export type TaskUpdate = z.output<typeof TaskUpdate>;

export const TaskFormatMessage = z.union([TaskRequest, TaskResponse, TaskUpdate]);

/** For a response of no known status, which is to learn what else is wrong with it. */
export const UntypedTaskResponse = z.looseObject({
  ...response,
  status: z.enum(TaskResponse.options.map((option) => option.shape.status.value)),
});

export const TASK_FORMAT_FIELDS = [
  'status',
  'result',
  'error',
  'metadata',
  'artifacts',
  'input',
  ...Object.keys(TaskRequest.shape),
];

export const hasTaskFormatFieldsOnly = (message: JsonObject): boolean => {
  const keys = Object.keys(message);
  return (
    keys.every((key) => TASK_FORMAT_FIELDS.includes(key)) && ['id', 'type', 'status'].some((key) => keys.includes(key))
  );
};

/** Which of the three a message is meant to be. */
export const pickSchema = ({ status, type, input }: JsonObject) => {
  if ((status ?? undefined) !== undefined) {
    const isKnown = TaskResponse.options.some((option) => option.shape.status.value === status);
    return isKnown ? TaskResponse : UntypedTaskResponse;
  }
  return input !== undefined && (type ?? undefined) === undefined ? TaskUpdate : TaskRequest;
};
