import type * as z from 'zod';
import { pickExtensionHeaders } from '../../dialects/common-ground/context-headers.ts';
import type { CommonGroundCommand } from '../../dialects/common-ground/decode.ts';
import { parseTraceHeaders } from '../../dialects/common-ground/headers.ts';
import type { ToolReportPayload } from '../../dialects/common-ground/payloads.ts';
import { assertNotReserved } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { EnqueueRequest } from '../../turns/lifecycle/enqueue.ts';
import type { ToolCommand } from '../../turns/tool-calls/call-tool.ts';
import type { ReceivedReport } from '../../turns/tool-calls/receive-report.ts';
import type { UiActionRequest } from '../../turns/ui-actions/ui-action.ts';

/** The turn that a message asks for. */
export const toEnqueueRequest = (
  command: Extract<CommonGroundCommand, { do: 'enqueue' }>,
  trace: Trace,
): EnqueueRequest => {
  const { payload, depth, headers, subject } = command;
  assertNotReserved('A call', payload.correlation_id);
  return {
    agent: payload.agent_id,
    correlation: payload.correlation_id,
    mode: payload.mode,
    channel: payload.channel_id,
    depth,
    contextBox: payload.context_box_id,
    payload: payload.payload,
    headers: pickExtensionHeaders(headers),
    trace: parseTraceHeaders(headers) ?? trace,
    protocolVersion: subject.version,
  };
};

export const toToolCommand = (
  command: Extract<CommonGroundCommand, { do: 'callTool' | 'callInternal' }>,
): ToolCommand => {
  const { payload, subject, subjectText, headers, rawPayload, depth } = command;
  const { category, component, target, suffix, channel } = subject;
  return {
    agent: payload.agent_id,
    turn: payload.agent_turn_id,
    epoch: payload.turn_epoch,
    toolCall: payload.tool_call_id,
    isInternal: command.do === 'callInternal',
    toolName: payload.tool_name,
    afterExecution: payload.after_execution,
    card: payload.tool_call_card_id,
    contextBox: payload.context_box_id,
    targetSubject: `${category}.${component}.${target}.${suffix}`,
    target,
    action: suffix,
    channel,
    depth,
    type: `${category}.${component}.${suffix}`,
    protocolVersion: subject.version,
    subject: subjectText,
    headers,
    trace: parseTraceHeaders(headers),
    payload: rawPayload,
  };
};

export const toReceivedReport = (payload: z.output<typeof ToolReportPayload>): ReceivedReport => ({
  agent: payload.agent_id,
  turn: payload.agent_turn_id,
  epoch: payload.turn_epoch,
  toolCall: payload.tool_call_id,
  type: payload.message_type,
  status: payload.status,
  afterExecution: payload.after_execution,
  card: payload.tool_result_card_id,
});

export const toUiActionRequest = ({
  payload,
  subject,
  content,
  depth,
}: Extract<CommonGroundCommand, { do: 'uiAction' }>): UiActionRequest => ({
  id: payload.action_id,
  messageId: payload.message_id,
  agent: payload.agent_id,
  tool: payload.tool_name,
  args: payload.args,
  channel: subject.channel,
  depth: depth ?? 0,
  protocolVersion: subject.version,
  fingerprint: computeFingerprint({ ...content, message_id: undefined }),
  description: { ...content, args: undefined },
});
