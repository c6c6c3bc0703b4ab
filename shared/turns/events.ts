import { inHeaders } from '../dialects/common-ground/headers.ts';
import { agentSubject } from '../dialects/common-ground/subject.ts';
import { PARLEY } from '../inbox/delivery.ts';
import type { JsonObject } from '../json/json.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { childNamed, type Trace } from '../trace.ts';

/** What everything that is said of a turn has in common. */
export interface About extends Trace {
  project: string;
  channel: string;
  depth: number;
  /** Who says it; Parley itself, where nobody is named. */
  sender?: string;
}

export type TurnEventType = 'evt.agent.step' | 'evt.agent.task' | 'evt.agent.state' | 'cmd.agent.wakeup';

/** A message of the protocol as an event: whoever reads the log, or a durable consumer, finds the whole of it in `data`. */
export const turnEvent = (
  cause: string,
  type: TurnEventType,
  at: number,
  target: string,
  payload: JsonObject,
  about: About,
): ParleyEvent => {
  const id = `${cause}:${type}`;
  const [category, , suffix] = type === 'cmd.agent.wakeup' ? (['cmd', '', 'wakeup'] as const) : parts(type);
  const { project, channel, depth, sender = PARLEY } = about;
  return {
    id,
    project,
    type,
    at,
    data: {
      subject: agentSubject({ project, channel }, category, target, suffix),
      headers: inHeaders({ ...childNamed(about, id), at, type, sender, depth }),
      payload,
      channel,
    },
  };
};

const parts = (type: Exclude<TurnEventType, 'cmd.agent.wakeup'>): ['evt', 'agent', string] => [
  'evt',
  'agent',
  type.slice('evt.agent.'.length),
];
