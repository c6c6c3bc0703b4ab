import { type CommonGroundCommand, decode } from '../../dialects/common-ground/decode.ts';
import { parseTraceHeaders, pickExtensionHeaders } from '../../dialects/common-ground/headers.ts';
import { parseProjectSubject } from '../../dialects/common-ground/subject.ts';
import { getDialect } from '../../dialects/registry.ts';
import type { Deps } from '../../identity/deps.ts';
import { assertNotReserved } from '../../kernel/reserved-ids.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { PendingRequest, Submitter } from '../../workflows/deferred/create-pending.ts';
import { toBatchItemTurnId } from '../model/turn.ts';
import { type EnqueueRequest, protocolViolationError } from './enqueue.ts';

/** The turn that a message asks for. */
export const toEnqueueRequest = (
  order: Extract<CommonGroundCommand, { do: 'enqueue' }>,
  trace: Trace,
): EnqueueRequest => {
  const { payload, depth, headers } = order;
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
  };
};

/** The same where it was asked for together with others; undefined where that was a task. */
export const toBatchEnqueueRequest = (
  { config }: Deps,
  { project, from, trace }: Submitter,
  { dialect, message, batchMembership }: PendingRequest,
): (EnqueueRequest & { id: string }) | undefined => {
  if (!batchMembership || !getDialect(dialect).usesTurns) return undefined;
  const { command } = decode(message, config, from);
  parseProjectSubject(command.subjectText, project);
  if (command.do === 'enqueue')
    return { ...toEnqueueRequest(command, trace), id: toBatchItemTurnId(batchMembership), from, batchMembership };
  throw protocolViolationError('subject', 'A batch takes the calls of agents: cmd.agent.{agent}.turn.');
};
