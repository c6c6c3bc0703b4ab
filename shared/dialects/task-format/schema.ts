import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { MAX_ARTIFACTS } from '../../model/artifact.ts';
import { Limits, NotBefore } from '../codec-helpers.ts';

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

const typeName = z.string().min(1).max(128);

/** Messages and their blocks may have fields that are not named here. These are carried along. */
export const TaskRequest = z.looseObject({
  id: taskId.describe('unique; a UUID is recommended'),
  type: typeName.describe('the capability that the task needs'),
  payload: jsonObject,
  status: z.literal('pending').optional().describe('of a task that nobody has begun'),
  context: z
    .looseObject({
      conversationId: label.optional(),
      parentTaskId: taskId.optional(),
      user: label.optional(),
      timestamp: time.optional(),
      priority: z.enum(PRIORITIES).default('normal'),
      notBefore: NotBefore,
      limits: Limits,
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

const onlyWith = (status: string) => z.never(`is for the status ${status} only`).optional();

const anyResponse = {
  id: taskId.describe('of the task'),
  metadata: Metadata.prefault({}),
  observability: Observability.optional(),
  artifacts: boundedArray(ArtifactSchema, { max: MAX_ARTIFACTS })
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'must have names that differ')
    .optional(),
};

const response = {
  ...anyResponse,
  result: onlyWith('completed'),
  error: onlyWith('failed'),
  input: onlyWith('input_required'),
};

export const TaskResponse = z.discriminatedUnion('status', [
  z.looseObject({ ...response, status: z.literal('pending') }),
  z.looseObject({ ...response, status: z.literal('in_progress') }),
  z.looseObject({ ...response, status: z.literal('completed'), result: jsonValue.optional() }),
  z.looseObject({
    ...response,
    status: z.literal('failed'),
    error: z.looseObject({
      code: z.string().min(1).max(128),
      message: text,
      details: jsonObject.optional(),
      recoverable: z.boolean().optional(),
    }),
  }),
  z.looseObject({ ...response, status: z.literal('cancelled') }),
  z.looseObject({
    ...response,
    status: z.literal('input_required'),
    input: z
      .looseObject({
        prompt: text.min(1).optional().describe('the question; by default `metadata.message`'),
        schema: jsonObject.optional().describe('JSON Schema that the answer must have'),
        state: jsonValue.optional().describe('given back with the answer'),
      })
      .prefault({}),
  }),
]);
export type TaskResponse = z.output<typeof TaskResponse>;

/** The answer to `input_required`. */
export const TaskUpdate = z.looseObject({ id: taskId, input: jsonValue });
export type TaskUpdate = z.output<typeof TaskUpdate>;

/** To another agent, without a task. */
export const Signal = z.looseObject({
  signalId: taskId.describe('unique among the signals of its sender'),
  from: agentId.optional(),
  to: agentId,
  type: typeName.describe('`handoff_suggestion`, `task_complete`, `blocked`, `error`, `escalate` or another'),
  payload: jsonObject.default({}),
  timestamp: time.optional(),
});
export type Signal = z.output<typeof Signal>;

export const TaskFormatMessage = z.union([TaskRequest, TaskResponse, TaskUpdate, Signal]);

/** For a response of no known status, which is to learn what else is wrong with it. */
export const UntypedTaskResponse = z.looseObject({
  ...anyResponse,
  status: z.enum(TaskResponse.options.map((option) => option.shape.status.value)),
});

export const TASK_FORMAT_FIELDS = [...new Set([...Object.keys(TaskRequest.shape), ...Object.keys(response)])];

/** Whatever says no more than the fields of the format is meant to be of it, be it right or wrong. */
export const hasTaskFormatFieldsOnly = (message: JsonObject): boolean => {
  if (isSaid(message.signalId)) return true;
  const keys = Object.keys(message);
  return (
    keys.every((key) => TASK_FORMAT_FIELDS.includes(key)) && ['id', 'type', 'status'].some((key) => keys.includes(key))
  );
};

/** What makes it one of the messages of the format, whatever else it says. */
export const hasTaskFormatShape = ({ id, type, payload, status, input }: JsonObject): boolean =>
  typeof id === 'string' &&
  ((typeof type === 'string' && isJsonObject(payload)) || isKnownStatus(status) || input !== undefined);

const isKnownStatus = (status: Json | undefined): boolean =>
  TaskResponse.options.some((option) => option.shape.status.value === status);

/** Which of them a message is meant to be. */
export const pickSchema = (message: JsonObject) => {
  const { signalId, type, payload, status, metadata, input } = message;
  if (isSaid(signalId)) return Signal;
  // A task file has the status that its task begins with.
  if (status === 'pending' && isSaid(type) && isSaid(payload) && !isSaid(metadata)) return TaskRequest;
  if (isSaid(status)) return isKnownStatus(status) ? TaskResponse : UntypedTaskResponse;
  return input !== undefined && !isSaid(type) ? TaskUpdate : TaskRequest;
};

const isSaid = (value: Json | undefined): boolean => value !== undefined && value !== null;
