import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import { AFTER_EXECUTION } from '../../identity/tools/tool.ts';
import { CHANNEL_ID } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { EXECUTION_STATUSES, TURN_RESULTS } from '../../model/agent-state.ts';

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
/** Names that their senders make: printable, so that they can stand in keys and logs. */
const id = z.string().regex(/^[!-~]{1,128}$/, 'must be 1 to 128 printable characters without blanks');
const text = z.string().max(4000);
const word = z.string().min(1).max(64);
const phase = word.describe(
  'started, planning, executing, completed or failed. Readers in Python reject any other word',
);
const epoch = z.number().int().min(0);
const time = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' });

const buildForbiddenField = (why: string) =>
  z
    .custom<undefined>((value) => value === undefined, why)
    .optional()
    .meta({ not: {} });

const INLINE_RESULT = 'must not be sent inline: POST /v1/cards, and send its id as tool_result_card_id';
const INLINE_ARGS = 'must not be sent inline: POST /v1/cards, and send its id as tool_call_card_id';

const DEPTH = 'the depth in the chain of calls. The header `CG-Recursion-Depth` has the same meaning';
const recursionDepth = z.number().int().min(0).describe(DEPTH);
export const afterExecution = z.enum(AFTER_EXECUTION);
const turnFields = { agent_turn_id: id, turn_epoch: epoch, agent_id: agentId };

/** A bell: nothing in it is believed. */
export const WakeupPayload = z.looseObject({
  agent_id: agentId,
  inbox_id: id.optional(),
  reason: text.optional(),
  metadata: jsonObject.optional(),
});

/** The call of an agent: one turn. */
export const EnqueuePayload = z.strictObject({
  agent_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be an agent or a capability')
    .describe('an agent, or a capability of a group of agents'),
  correlation_id: id,
  mode: word.default('call').describe('only `call` is supported'),
  channel_id: z.string().regex(CHANNEL_ID, 'must be public, u_<user> or t_<thread>').default('public'),
  // Looked at later, because a call that is refused for its depth is told as a turn that failed.
  recursion_depth: z.unknown().optional().meta({ type: 'integer', minimum: 0, description: DEPTH }),
  context_box_id: id.optional(),
  payload: jsonObject.optional(),
});

export const ToolReportPayload = z.looseObject({
  message_type: z.enum(['tool_result', 'timeout']).default('tool_result'),
  tool_call_id: id,
  ...turnFields,
  after_execution: afterExecution,
  status: z.enum(TURN_RESULTS),
  tool_result_card_id: id,
  result: buildForbiddenField(INLINE_RESULT),
  recursion_depth: recursionDepth.optional(),
});

export const StopPayload = z.looseObject({ ...turnFields, reason: text.optional() });

export const ToolCommandPayload = z.looseObject({
  tool_call_id: id,
  ...turnFields,
  tool_name: id.optional(),
  after_execution: afterExecution.optional(),
  tool_call_card_id: id.optional(),
  context_box_id: id.optional(),
  dispatch_requested_at: time.optional(),
  args: buildForbiddenField(INLINE_ARGS),
  arguments: buildForbiddenField(INLINE_ARGS),
  result: buildForbiddenField(INLINE_RESULT),
});

export const StepEventPayload = z.looseObject({
  agent_turn_id: id,
  step_id: id,
  phase,
  metadata: jsonObject.optional(),
});

export const TaskEventPayload = z.looseObject({
  agent_turn_id: id,
  status: z.enum(TURN_RESULTS),
  deliverable_card_id: id.optional(),
  output_box_id: id.optional(),
  tool_result_card_id: id.optional(),
  error: text.optional(),
  error_code: word.optional(),
  stats: jsonObject.optional(),
});

export const StateEventPayload = z.looseObject({
  ...turnFields,
  status: z.enum(EXECUTION_STATUSES),
  updated_at: time,
  output_box_id: id.optional(),
  metadata: jsonObject.optional(),
});

export const ChunkPayload = z.looseObject({
  agent_turn_id: id,
  step_id: id,
  chunk_type: word.describe('content, reasoning, tool_call, start or end. Readers in Python reject any other word'),
  content: z.string().default('').describe('the text; `start` and `end` often have none'),
  index: z.number().int().min(0).optional().describe('its place in the step, from 0 on; otherwise as it arrives'),
  metadata: jsonObject.optional(),
});

export const UiActionPayload = z.looseObject({
  action_id: id,
  agent_id: agentId,
  tool_name: id,
  args: jsonObject,
  metadata: jsonObject.optional(),
  message_id: id.optional(),
  parent_step_id: id.optional(),
});

/** A message for a user, whose agent is the target of the subject. */
export const UserMessagePayload = z.looseObject({ message_id: id.optional() });

export const UiActionAckPayload = z.looseObject({
  action_id: id,
  agent_id: agentId,
  status: word.describe('accepted, busy or rejected at once; then done or rejected'),
  message_id: id.optional(),
  tool_result_card_id: id.optional(),
  error_code: word.optional(),
  error: text.optional(),
});

/** What a worker says of its turn, beside the turn's id in the path. */
const workerFields = {
  turn_epoch: epoch,
  agent_id: agentId.optional().describe('the agent of the turn, if an admin key acts for it'),
};
export const StartBody = z.strictObject(workerFields);
export const StepBody = z.strictObject({ ...workerFields, step_id: id, phase, metadata: jsonObject.optional() });
export const SuspendBody = z.strictObject({
  ...workerFields,
  waiting: boundedArray(z.strictObject({ tool_call_id: id, step_id: id }), { min: 1, max: 32 }).refine(
    (calls) => new Set(calls.map((call) => call.tool_call_id)).size === calls.length,
    'names a tool call twice',
  ),
  deadline_seconds: z.number().min(1).max(86_400).optional(),
});
export const DeliverBody = z.strictObject({
  ...workerFields,
  status: z.enum(TURN_RESULTS),
  deliverable_card_id: id,
  output_box_id: id.optional(),
  error: text.optional(),
  error_code: word.optional(),
});
export const StopBody = z.strictObject({ ...workerFields, reason: text.optional() });
