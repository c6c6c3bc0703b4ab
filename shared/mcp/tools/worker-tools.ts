import * as z from 'zod';
import { OWN_DIALECT } from '../../dialects/registry.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { taskPath } from '../api.ts';
import { sendOwnMessage } from '../submit-task.ts';
import { toToolResult } from './content.ts';
import { type ControlTool, defineTool, taskId } from './tool.ts';

const attempt = z.number().int().min(1).optional().describe('of the claim: a report on an earlier attempt is rejected');
const text = z.string().min(1).max(4000);

/** For those who do work: with these a coding agent is a worker. */
export const WORKER_TOOLS: readonly ControlTool[] = [
  defineTool({
    name: 'parley_claim',
    title: 'Claim work',
    description:
      'Claim the next task for this agent, under a lease. Report with parley_report; progress and parley_renew extend the lease.',
    hints: { destructiveHint: false },
    input: z.strictObject({
      wait: z.number().min(0).max(20).default(0).describe('seconds to wait for a task'),
      max: z.number().int().min(1).max(10).default(1),
      capabilities: z.array(z.string().max(128)).max(256).optional().describe('only these capabilities of the agent'),
      leaseSeconds: z.number().min(1).max(86_400).optional(),
    }),
    run: async ({ api }, { wait, max, capabilities, leaseSeconds }) => {
      const body = { dialect: OWN_DIALECT, wait, max, capabilities, lease: leaseSeconds };
      const { tasks, paused } = await api.call('POST', '/v1/claims', { body: omitAbsent(body) });
      const shown = (tasks as JsonObject[]).map(({ message, attempt: number, lease }) => {
        const { kind: _kind, ...task } = message as JsonObject;
        return { ...task, attempt: number, lease } as JsonObject;
      });
      return toToolResult({ tasks: shown, ...(paused !== undefined && { paused }) });
    },
  }),
  defineTool({
    name: 'parley_report',
    title: 'Report on a claimed task',
    description: 'Report exactly one of `progress`, `result` and `failure`. A result or a failure ends the task.',
    hints: { destructiveHint: false, idempotentHint: true },
    input: z
      .strictObject({
        id: taskId,
        attempt,
        progress: z
          .strictObject({ percent: z.number().min(0).max(100).optional(), message: text.optional() })
          .optional(),
        result: jsonValue.optional(),
        failure: z
          .strictObject({
            code: z.string().min(1).max(128),
            message: text,
            retryable: z.boolean().optional().describe('whether another attempt may succeed'),
          })
          .optional(),
      })
      .refine(
        ({ progress, result, failure }) => [progress, result, failure].filter((one) => one !== undefined).length === 1,
        'must have exactly one of progress, result and failure',
      ),
    run: async ({ api }, { id, attempt: number, progress, result, failure }) => {
      const about = { taskId: id, attempt: number };
      if (progress)
        return acknowledge(await sendOwnMessage(api, omitAbsent({ kind: 'progress', ...about, ...progress })));
      if (failure) return acknowledge(await sendOwnMessage(api, omitAbsent({ kind: 'failure', ...about, ...failure })));
      return acknowledge(await sendOwnMessage(api, omitAbsent({ kind: 'result', ...about, output: result })));
    },
  }),
  defineTool({
    name: 'parley_ask',
    title: 'Ask the requester',
    description:
      'Ask the requester of a claimed task. The claim ends: when the answer is there, the task is in the queue again, and the next parley_claim returns it with the answer.',
    hints: { destructiveHint: false },
    input: z.strictObject({
      id: taskId,
      attempt,
      question: text,
      schema: jsonObject.optional().describe('JSON Schema that the answer must have'),
    }),
    run: async ({ api }, { id, attempt: number, question, schema }) => {
      const message = { kind: 'question', taskId: id, attempt: number, prompt: question, schema, requeue: true };
      return acknowledge(await sendOwnMessage(api, omitAbsent(message)));
    },
  }),
  defineTool({
    name: 'parley_renew',
    title: 'Renew a lease',
    description: 'Renew the lease of a claimed task.',
    hints: { destructiveHint: false },
    input: z.strictObject({ id: taskId, attempt }),
    run: async ({ api }, { id, attempt: number }) => {
      const { lease } = await api.call('POST', taskPath(id, '/renew'), { body: omitAbsent({ attempt: number }) });
      return toToolResult({ id, ...(lease !== undefined && { lease }) });
    },
  }),
  defineTool({
    name: 'parley_inbox',
    title: 'Read the inbox',
    description: 'Read the messages that wait for this agent, oldest first. They stay until parley_ack.',
    hints: { readOnlyHint: true },
    input: z.strictObject({
      max: z.number().int().min(1).max(100).default(20),
      wait: z.number().min(0).max(20).default(0),
    }),
    run: async ({ api }, { max, wait }) => {
      const query = { max, wait, dialect: OWN_DIALECT, claim: false };
      const { messages } = await api.call('GET', '/v1/inbox', { query });
      return toToolResult({ messages } as JsonObject);
    },
  }),
  defineTool({
    name: 'parley_ack',
    title: 'Acknowledge inbox entries',
    description: 'Remove entries from the inbox by the ids of their messages.',
    hints: { idempotentHint: true },
    input: z.strictObject({ ids: z.array(z.string().min(1).max(128)).min(1).max(100) }),
    run: async ({ api }, { ids }) => toToolResult(await api.call('POST', '/v1/inbox/ack', { body: { ids } })),
  }),
];

const omitAbsent = (fields: Record<string, Json | undefined>): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined));

const acknowledge = ({ taskId: id, duplicate, waiting }: JsonObject): JsonObject =>
  toToolResult({ accepted: true, ...omitAbsent({ id, duplicate, waiting }) });
