import { turnProtocol } from '../../dialects/turn-protocol.ts';
import type { TurnEnd } from '../../model/agent-state.ts';
import type { Turn } from '../../model/turn.ts';
import { toTurnEventContext } from '../../model/turn-event.ts';
import type { ParleyEvent } from '../../ports/events.ts';

export const encodeTurnEnd = (turn: Turn, end: TurnEnd): ParleyEvent =>
  turnProtocol.encodeEvent({
    kind: 'end',
    cause: `turn/${turn.id}`,
    at: end.at,
    target: turn.agent,
    context: toTurnEventContext(turn.project, turn, turn.agent),
    turn,
    end,
  });
