import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { deriveChildSpan } from '../../kernel/trace.ts';
import type { TurnEnd } from '../../model/agent-state.ts';
import type { Turn } from '../../model/turn.ts';
import type { TurnEvent } from '../../model/turn-event.ts';
import type { UiAction } from '../../model/ui-action.ts';
import { toIso } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { buildHeaders } from './build-headers.ts';
import { COMMON_GROUND_VERSION, formatAgentSubject, formatSubject } from './subject.ts';
import { toVersion } from './versions.ts';

const SUBJECTS = {
  state: { category: 'evt', suffix: 'state', type: 'evt.agent.state' },
  step: { category: 'evt', suffix: 'step', type: 'evt.agent.step' },
  end: { category: 'evt', suffix: 'task', type: 'evt.agent.task' },
  wakeup: { category: 'cmd', suffix: 'wakeup', type: 'cmd.agent.wakeup' },
} as const satisfies Record<TurnEvent['kind'], object>;

/** A message of the protocol as an event: whoever reads the log, or a durable consumer, finds the whole of it in `data`. */
export const encodeTurnEvent = (event: TurnEvent): ParleyEvent => {
  const { category, suffix, type } = SUBJECTS[event.kind];
  const { at, target, context } = event;
  const { project, channel, depth, sender = SYSTEM_SENDER, protocolVersion } = context;
  const id = `${event.cause}:${type}`;
  const message = {
    subject: formatAgentSubject({ project, channel }, category, target, suffix),
    headers: buildHeaders({ ...deriveChildSpan(context, id), at, type, sender, depth }),
    payload: buildPayload(event),
    channel,
  };
  return { id, project, type, at, data: toVersion(message, protocolVersion, { turn_epoch: getEpoch(event) }) };
};

const getEpoch = (event: TurnEvent): number => {
  if (event.kind === 'end') return event.turn.epoch ?? 0;
  return event.kind === 'wakeup' ? 0 : event.epoch;
};

const buildPayload = (event: TurnEvent): JsonObject => {
  switch (event.kind) {
    case 'state':
      return {
        agent_id: event.target,
        agent_turn_id: event.turn,
        status: event.status,
        turn_epoch: event.epoch,
        updated_at: toIso(event.at),
        output_box_id: event.outputBox,
        metadata: event.metadata,
      };
    case 'step': {
      const { id, phase, metadata } = event.step;
      return { agent_turn_id: event.turn, step_id: id, phase, metadata };
    }
    case 'end':
      return buildEndPayload(event.turn, event.end);
    case 'wakeup':
      return { agent_id: event.agent, inbox_id: event.inboxId, reason: event.reason };
  }
};

const buildEndPayload = (turn: Turn, end: TurnEnd): JsonObject => {
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

const ACKNOWLEDGEMENT = 'evt.sys.ui.action_ack';

/** The state that an action of a user interface has come to. */
export const encodeUiAction = (action: UiAction): ParleyEvent => {
  const { project, channel, at } = action;
  const type = ACKNOWLEDGEMENT;
  const id = `uiaction/${action.pk}:${action.v}:${type}`;
  const subject = formatSubject({
    version: COMMON_GROUND_VERSION,
    project,
    channel,
    category: 'evt',
    component: 'sys',
    target: 'ui',
    suffix: 'action_ack',
  });
  const payload = {
    action_id: action.id,
    agent_id: action.agent,
    status: action.status,
    message_id: action.messageId,
    tool_result_card_id: action.card,
    error_code: action.errorCode,
    error: action.error,
  };
  const headers = buildHeaders({ ...deriveChildSpan(action, id), at, type, sender: SYSTEM_SENDER, depth: 0 });
  const data = toVersion({ subject, headers, payload, channel }, action.protocolVersion, {
    agent_turn_id: action.turn,
  });
  return { id, project, type, at, data };
};
