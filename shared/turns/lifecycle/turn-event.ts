import { buildHeaders } from '../../dialects/common-ground/headers.ts';
import { formatAgentSubject } from '../../dialects/common-ground/subject.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';
import { deriveChildSpan } from '../../kernel/trace.ts';
import type { TurnEventContext } from '../../model/turn-effect.ts';
import type { ParleyEvent } from '../../ports/events.ts';

export type TurnEventType = 'evt.agent.step' | 'evt.agent.task' | 'evt.agent.state' | 'cmd.agent.wakeup';

/** A message of the protocol as an event: whoever reads the log, or a durable consumer, finds the whole of it in `data`. */
export const buildTurnEvent = (
  cause: string,
  type: TurnEventType,
  at: number,
  target: string,
  payload: JsonObject,
  about: TurnEventContext,
): ParleyEvent => {
  const id = `${cause}:${type}`;
  const [category, , suffix] = type === 'cmd.agent.wakeup' ? (['cmd', '', 'wakeup'] as const) : splitEventType(type);
  const { project, channel, depth, sender = SYSTEM_SENDER } = about;
  return {
    id,
    project,
    type,
    at,
    data: {
      subject: formatAgentSubject({ project, channel }, category, target, suffix),
      headers: buildHeaders({ ...deriveChildSpan(about, id), at, type, sender, depth }),
      payload,
      channel,
    },
  };
};

const splitEventType = (type: Exclude<TurnEventType, 'cmd.agent.wakeup'>): ['evt', 'agent', string] => [
  'evt',
  'agent',
  type.slice('evt.agent.'.length),
];
