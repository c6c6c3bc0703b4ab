import * as z from 'zod';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { fetchTask, type ShownTask, taskPath } from '../api.ts';
import { submitTask } from '../submit-task.ts';
import { toToolResult } from './content.ts';
import { showTask } from './show-task.ts';
import { type ControlTool, defineTool, taskId } from './tool.ts';

const MAX_WAIT_SECONDS = 25;
const waitSeconds = z.number().min(0).max(MAX_WAIT_SECONDS);
const READS = { readOnlyHint: true };

const showPage = ({ tasks, cursor }: JsonObject): JsonObject =>
  toToolResult({
    tasks: ((tasks ?? []) as unknown as ShownTask[]).map(showTask),
    ...(cursor !== undefined && { cursor }),
  });

/** For those who give work. */
export const REQUESTER_TOOLS: readonly ControlTool[] = [
  defineTool({
    name: 'parley_submit',
    title: 'Submit a task',
    description:
      'Give a task to an agent by capability. It is durable once this answers: with its result if that comes within `wait` seconds, else with its id for parley_wait.',
    hints: { destructiveHint: false },
    input: z.strictObject({
      capability: z.string().min(1).max(128).describe('as parley_agents lists them, such as security.scan'),
      input: jsonValue.optional().describe('what the agent is given'),
      to: z.string().max(64).optional().describe('the only agent that may do it; by default any provider'),
      priority: z.enum(PRIORITIES).optional(),
      ttlSeconds: z.number().int().min(1).max(604_800).optional().describe('how long it may wait for an agent'),
      wait: waitSeconds.default(0),
      idempotencyKey: z.string().min(1).max(128).optional().describe('the same key again is the same task'),
    }),
    run: async (context, { wait, ...request }) => {
      const id = await submitTask(context, request);
      return toToolResult(showTask(await fetchTask(context.api, id, wait)));
    },
  }),
  defineTool({
    name: 'parley_wait',
    title: 'Wait for a task',
    description:
      'Wait until a task ends or asks a question, at most `seconds`. Call it again while the state is neither.',
    hints: READS,
    input: z.strictObject({ id: taskId, seconds: waitSeconds.default(20) }),
    run: async ({ api }, { id, seconds }) => toToolResult(showTask(await fetchTask(api, id, seconds))),
  }),
  defineTool({
    name: 'parley_status',
    title: 'Show a task',
    description: 'The state, progress, result or error of a task.',
    hints: READS,
    input: z.strictObject({ id: taskId }),
    run: async ({ api }, { id }) => toToolResult(showTask(await fetchTask(api, id))),
  }),
  defineTool({
    name: 'parley_cancel',
    title: 'Cancel a task',
    description: 'Cancel a task that has not ended.',
    hints: { idempotentHint: true },
    input: z.strictObject({ id: taskId }),
    run: async ({ api }, { id }) => showChanged(await api.call('POST', taskPath(id, '/cancel'))),
  }),
  defineTool({
    name: 'parley_answer',
    title: 'Answer a question',
    description: 'Answer the question of a task in the state input_required. Its agent then goes on.',
    hints: { destructiveHint: false, idempotentHint: true },
    input: z.strictObject({ id: taskId, input: jsonValue.describe('the answer, as the question’s schema wants it') }),
    run: async ({ api }, { id, input }) =>
      showChanged(await api.call('POST', taskPath(id, '/input'), { body: { input: input as Json } })),
  }),
  defineTool({
    name: 'parley_retry',
    title: 'Retry a task',
    description: 'Run a failed or expired task once more.',
    hints: { destructiveHint: false },
    input: z.strictObject({ id: taskId }),
    run: async ({ api }, { id }) => showChanged(await api.call('POST', taskPath(id, '/retry'))),
  }),
  defineTool({
    name: 'parley_list',
    title: 'List tasks',
    description: 'List tasks, newest first.',
    hints: READS,
    input: z.strictObject({
      status: z.string().max(100).optional().describe('one or several states, with commas between'),
      type: z.string().max(128).optional().describe('the capability'),
      agent: z.string().max(64).optional().describe('the requester, the addressee or the holder'),
      waits: z.literal(true).optional().describe('only tasks that wait for an answer'),
      limit: z.number().int().min(1).max(100).default(20),
      cursor: z.string().max(300).optional(),
    }),
    run: async ({ api }, query) => showPage(await api.call('GET', '/v1/tasks', { query })),
  }),
  defineTool({
    name: 'parley_agents',
    title: 'List agents',
    description: 'List the agents with their capabilities.',
    hints: READS,
    input: z.strictObject({
      limit: z.number().int().min(1).max(100).default(50),
      cursor: z.string().max(64).optional(),
    }),
    run: async ({ api }, query) => {
      const { agents, cursor } = await api.call('GET', '/v1/agents', { query });
      const shown = (agents as JsonObject[]).map(({ id, capabilities, domains, health }) => {
        const { online } = (health ?? {}) as JsonObject;
        return { id, capabilities, domains, ...(online !== undefined && { online }) } as JsonObject;
      });
      return toToolResult({ agents: shown, ...(cursor !== undefined && { cursor }) });
    },
  }),
];

const showChanged = (task: JsonObject): JsonObject => toToolResult(showTask(task as unknown as ShownTask));
