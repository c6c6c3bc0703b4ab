import type { TurnEnd } from '../../model/agent-state.ts';
import type { Turn } from '../../model/turn.ts';
import type { TurnEventContext } from '../../model/turn-effect.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { buildTurnEvent } from './turn-event.ts';

/** The one message that tells how a turn ended. */
export const buildTurnEndEvent = (turn: Turn, end: TurnEnd): ParleyEvent =>
  buildTurnEvent(`turn/${turn.id}`, 'evt.agent.task', end.at, turn.agent, buildTurnEndPayload(turn, end), {
    ...toTurnEventContext(turn),
    sender: turn.agent,
  });

export const toTurnEventContext = ({ project, channel, depth, traceparent, tracestate }: Turn): TurnEventContext => ({
  project,
  channel,
  depth,
  traceparent,
  tracestate,
});

const buildTurnEndPayload = (turn: Turn, end: TurnEnd) => {
  const { createdAt, leasedAt } = turn;
  return {
    agent_turn_id: turn.id,
    status: end.status,
    deliverable_card_id: end.deliverable,
    output_box_id: end.outputBox,
    tool_result_card_id: end.toolResultCard,
    error: end.error,
    error_code: end.errorCode,
    correlation_id: turn.correlation,
    stats: {
      steps: turn.steps ?? 0,
      timing: {
        queued_ms: (leasedAt ?? end.at) - createdAt,
        active_ms: leasedAt === undefined ? 0 : end.at - leasedAt,
      },
    },
  };
};
