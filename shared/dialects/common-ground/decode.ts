import type * as z from 'zod';
import type { Config } from '../../config.ts';
import { ParleyError } from '../../errors.ts';
import { checked } from '../../json/checked.ts';
import { fingerprint } from '../../json/fingerprint.ts';
import type { JsonObject } from '../../json/json.ts';
import type { OwnMessage } from '../../messages/command.ts';
import { depthIn, depthOfCall, depthSaid, type Headers, senderIn, signedIn, withDepthAsText } from './headers.ts';
import { Chunk, Enqueue, Stop, ToolCommand, ToolReport, UiAction, Wakeup } from './payloads.ts';
import { CommonGroundMessage, inShape } from './schema.ts';
import { type Subject, spokenSubject } from './subject.ts';

interface Told {
  subject: Subject;
  text: string;
  headers: Headers;
  /** As it was sent, with whatever it says beside what the protocol asks for. */
  sent: JsonObject;
}

interface Deep extends Told {
  depth?: number;
}

/** What a message orders, with its payload in the shape that its subject asks for. */
export type GroundOrder =
  | (Deep & { do: 'wake'; payload: z.output<typeof Wakeup> })
  | (Told & { do: 'enqueue'; payload: z.output<typeof Enqueue>; depth?: number | ParleyError })
  | (Deep & { do: 'report'; payload: z.output<typeof ToolReport> })
  | (Deep & { do: 'stop'; payload: z.output<typeof Stop> })
  | (Deep & { do: 'callTool'; payload: z.output<typeof ToolCommand> })
  | (Deep & { do: 'callInternal'; payload: z.output<typeof ToolCommand> })
  | (Deep & { do: 'act'; payload: z.output<typeof UiAction> })
  | (Told & { do: 'stream'; payload: z.output<typeof Chunk> });

export interface GroundMessage extends OwnMessage {
  order: GroundOrder;
}

export const decode = (wire: JsonObject, _config: Config, sender: string | undefined): GroundMessage => {
  const message = checked(
    CommonGroundMessage,
    withDepthAsText(wire),
    'protocol_violation',
    'The common-ground message',
  );
  const subject = spokenSubject(message.subject);
  const { headers, payload: sent } = message;
  // What is only streamed carries no headers, and none are looked at: its subject says whose it is.
  const isStreamed = subject.category === 'str';
  const order = orderOf({ subject, text: message.subject, headers, sent });
  return {
    kind: 'own',
    messageId: idOf(order),
    fingerprint: fingerprint(message),
    from: sender ?? (isStreamed ? subject.target : senderIn(headers)) ?? 'admin',
    signed: isStreamed ? undefined : signedIn(message.subject, headers, sent),
    order,
    carryOut: async (deps, caller, trace) => {
      // Agents of the other dialects have no turns, and do without all that belongs to them.
      const { carryOutOrder } = await import('../../turns/carry-out-order.ts');
      return carryOutOrder(deps, caller, trace, order);
    },
  };
};

/** By which its sender knows the message. */
const idOf = (order: GroundOrder): string => {
  switch (order.do) {
    case 'act':
      return order.payload.message_id ?? order.payload.action_id;
    case 'enqueue':
      return order.payload.correlation_id;
    case 'wake':
      return order.payload.agent_id;
    case 'stop':
    case 'stream':
      return order.payload.agent_turn_id;
    default:
      return order.payload.tool_call_id;
  }
};

const orderOf = (told: Told): GroundOrder => {
  const { subject, sent } = told;
  const kind = `${subject.category}.${subject.component}`;
  if (kind === 'cmd.agent') return agentOrder(told);
  if (kind === 'cmd.tool') {
    return { ...deep(told), do: 'callTool', payload: inShape(ToolCommand, sent, 'The tool command') };
  }
  if (kind === 'cmd.sys' && subject.target === 'pmo' && subject.suffix.startsWith('internal.')) {
    return { ...deep(told), do: 'callInternal', payload: inShape(ToolCommand, sent, 'The command') };
  }
  if (kind === 'cmd.sys' && subject.target === 'ui' && subject.suffix === 'action') {
    return { ...deep(told), do: 'act', payload: inShape(UiAction, sent, 'The action') };
  }
  if (kind === 'str.agent' && subject.suffix === 'chunk') {
    return { ...told, do: 'stream', payload: inShape(Chunk, sent, 'The chunk') };
  }
  if (subject.category === 'evt')
    throw unknown(told, 'Parley itself tells what becomes of turns: /v1/turns says how to advance one');
  throw unknown(told, 'nobody takes messages of this subject');
};

const deep = (told: Told): Deep => ({ ...told, depth: depthIn(told.headers) });

const agentOrder = (told: Told): GroundOrder => {
  const { subject, sent, headers } = told;
  switch (subject.suffix) {
    case 'wakeup':
      return { ...deep(told), do: 'wake', payload: inShape(Wakeup, sent, 'The bell') };
    case 'turn':
      return { ...told, do: 'enqueue', payload: enqueued(told), depth: depthOfCall(headers, sent.recursion_depth) };
    case 'tool_result':
    case 'timeout':
      return {
        ...told,
        depth: depthSaid(headers, sent.recursion_depth),
        do: 'report',
        payload: reported(told),
      };
    case 'stop':
      return { ...deep(told), do: 'stop', payload: inShape(Stop, sent, 'The stop') };
    default:
      throw unknown(told, 'an agent takes wakeup, turn, tool_result, timeout and stop');
  }
};

/** The subject names the agent and the channel; a payload that does as well must agree. */
const enqueued = ({ subject, sent }: Told): z.output<typeof Enqueue> => {
  const payload = inShape(Enqueue, { agent_id: subject.target, channel_id: subject.channel, ...sent }, 'The call');
  if (payload.agent_id === subject.target && payload.channel_id === subject.channel) return payload;
  throw disagreement('names another agent or channel');
};

const reported = ({ subject, sent }: Told): z.output<typeof ToolReport> => {
  const payload = inShape(ToolReport, { message_type: subject.suffix, ...sent }, 'The report');
  if (payload.message_type === subject.suffix) return payload;
  throw disagreement('is another kind of report');
};

const disagreement = (what: string): ParleyError =>
  new ParleyError('protocol_violation', `The payload ${what} than the subject.`, { facts: { violated: 'subject' } });

const unknown = ({ text }: Told, why: string): ParleyError =>
  new ParleyError('protocol_violation', `The subject ${text.slice(0, 200)} is not for sending: ${why}.`, {
    facts: { violated: 'subject' },
    issues: [{ path: 'subject', message: why }],
  });
