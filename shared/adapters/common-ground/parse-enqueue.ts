import type { CommonGroundCommand } from '../../dialects/common-ground/decode.ts';
import { parseTraceHeaders, pickExtensionHeaders } from '../../dialects/common-ground/headers.ts';
import { assertNotReserved } from '../../kernel/reserved-ids.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { EnqueueRequest } from '../../turns/lifecycle/enqueue.ts';

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
