import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { MAX_ARTIFACTS } from '../../model/artifact.ts';
import { MAX_DEPENDENCIES } from '../../model/task.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { Limits, NotBefore, TimeToLive } from '../codec-helpers.ts';

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
export const A2aId = z.string().regex(CLIENT_ID, CLIENT_ID_RULE).overwrite(toCanonicalId);
const label = z.string().max(256);
const uri = z.string().max(2048);
const metadata = jsonObject.optional();

const CONTENT_FIELDS = ['text', 'raw', 'url', 'data'] as const;

/** The specification wants unknown fields ignored, here and in all that follows. */
export const Part = z
  .object({
    text: z.string().optional(),
    raw: z
      .string()
      .regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'must be base64')
      .optional(),
    url: z.string().max(8192).optional(),
    data: jsonValue.optional(),
    mediaType: label.optional(),
    filename: label.optional(),
    metadata,
  })
  .refine(
    (part) => CONTENT_FIELDS.filter((field) => part[field] !== undefined).length === 1,
    'must have exactly one of text, raw, url and data',
  );
export type Part = z.output<typeof Part>;

const parts = boundedArray(Part, { min: 1, max: 1000 });

export const A2aMessage = z.object({
  messageId: A2aId,
  contextId: label.optional(),
  taskId: A2aId.optional().describe('the task that this continues; absent for a new one'),
  role: z.enum(['ROLE_USER', 'ROLE_AGENT']),
  parts,
  metadata,
  extensions: boundedArray(uri, { max: 64 }).optional(),
  referenceTaskIds: boundedArray(label, { max: 64 }).optional(),
});
export type A2aMessage = z.output<typeof A2aMessage>;

/** `metadata.parley` of a message or of its request: what A2A has no field for. */
export const RequestOptions = z.object({
  capability: z.string().min(1).max(128).optional(),
  to: agentId.optional().describe('by default any provider of the capability'),
  from: agentId.optional().describe('required where an admin key sends it'),
  priority: z.enum(PRIORITIES).default('normal'),
  ttlSeconds: TimeToLive,
  notBefore: NotBefore,
  limits: Limits,
  user: label.min(1).optional(),
  parent: A2aId.optional(),
  dependencies: boundedArray(A2aId, { max: MAX_DEPENDENCIES }).optional(),
  retry: z
    .object({
      maxAttempts: z.number().int().min(1).max(10).optional(),
      backoff: z.enum(['exponential', 'linear', 'fixed']).optional(),
      initialMs: z.number().int().min(0).max(300_000).optional(),
    })
    .optional(),
  type: z.string().min(1).max(128).default('message').describe('of a direct message'),
});
export type RequestOptions = z.output<typeof RequestOptions>;

export const SendConfiguration = z.object({
  acceptedOutputModes: boundedArray(label, { max: 64 }).optional(),
  historyLength: z.number().int().min(0).max(2_147_483_647).optional(),
  returnImmediately: z.boolean().optional(),
  taskPushNotificationConfig: jsonObject.optional(),
});

export const SendMessageRequest = z.object({
  message: A2aMessage,
  configuration: SendConfiguration.optional(),
  metadata,
});
export type SendMessageRequest = z.output<typeof SendMessageRequest>;

export const TASK_STATES = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

const TaskStatus = z.object({
  state: z.enum(TASK_STATES),
  message: A2aMessage.extend({ messageId: A2aId.optional() }).optional(),
  timestamp: z.string().max(64).optional(),
});

export const A2aArtifact = z.object({
  artifactId: label.min(1),
  name: label.optional(),
  description: z.string().max(4000).optional(),
  parts,
  metadata,
  extensions: boundedArray(uri, { max: 64 }).optional(),
});
export type A2aArtifact = z.output<typeof A2aArtifact>;

const artifacts = boundedArray(A2aArtifact, { max: MAX_ARTIFACTS + 1 }).refine(
  (list) => new Set(list.map(({ artifactId }) => artifactId)).size === list.length,
  'must have ids that differ',
);

export const A2aTask = z.object({
  id: A2aId,
  contextId: label.optional(),
  status: TaskStatus,
  artifacts: artifacts.optional(),
  metadata,
});
export type A2aTask = z.output<typeof A2aTask>;

const StatusUpdate = z.object({ taskId: A2aId, contextId: label.optional(), status: TaskStatus, metadata });

const ArtifactUpdate = z.object({
  taskId: A2aId,
  contextId: label.optional(),
  artifact: A2aArtifact,
  append: z.literal(false).optional().describe('an artifact comes whole'),
  lastChunk: z.boolean().optional(),
  metadata,
});

export const TaskReportMessage = z.object({ task: A2aTask });
export const StatusUpdateMessage = z.object({ statusUpdate: StatusUpdate });
export const ArtifactUpdateMessage = z.object({ artifactUpdate: ArtifactUpdate });

/** What agents send: a `SendMessageRequest` as a client, and each `StreamResponse` as a server. */
export const A2aDialectMessage = z.union([
  SendMessageRequest,
  StatusUpdateMessage,
  ArtifactUpdateMessage,
  TaskReportMessage,
]);

export const A2A_FIELD_NAMES = ['message', 'configuration', 'metadata', 'statusUpdate', 'artifactUpdate', 'task'];

export const pickA2aSchema = ({ task, statusUpdate, artifactUpdate }: Record<string, unknown>): z.ZodType => {
  if (statusUpdate !== undefined) return StatusUpdateMessage;
  if (artifactUpdate !== undefined) return ArtifactUpdateMessage;
  return task === undefined ? SendMessageRequest : TaskReportMessage;
};
