import type { Deps } from '../deps.ts';
import { decode, type GroundOrder } from '../dialects/common-ground/decode.ts';
import { extensionsIn, traceOfHeaders } from '../dialects/common-ground/headers.ts';
import { ownSubject } from '../dialects/common-ground/subject.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { Seed, Sower } from '../seeds/sow.ts';
import type { Trace } from '../trace.ts';
import { type Enqueue, violation } from './enqueue.ts';
import { partIdOf } from './turn.ts';

/** The turn that a message asks for. */
export const turnAskedBy = (order: Extract<GroundOrder, { do: 'enqueue' }>, trace: Trace): Enqueue => {
  const { payload, depth, headers } = order;
  return {
    agent: payload.agent_id,
    correlation: payload.correlation_id,
    mode: payload.mode,
    channel: payload.channel_id,
    depth,
    contextBox: payload.context_box_id,
    payload: payload.payload,
    headers: extensionsIn(headers),
    trace: traceOfHeaders(headers) ?? trace,
  };
};

/** The same where it was asked for together with others; undefined where that was a task. */
export const turnIn = (
  { config }: Deps,
  { project, from, trace }: Sower,
  { dialect, message, joins }: Seed,
): (Enqueue & { id: string }) | undefined => {
  if (!joins || !dialectNamed(dialect).takesTurns) return undefined;
  const { order } = decode(message, config, from);
  ownSubject(order.text, project);
  if (order.do === 'enqueue') return { ...turnAskedBy(order, trace), id: partIdOf(joins), from, joins };
  throw violation('subject', 'A batch takes the calls of agents: cmd.agent.{agent}.turn.');
};
