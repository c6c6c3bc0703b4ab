import { agentBehind, type Caller, nameOf } from '../agents/authenticate.ts';
import { refuseOtherChannels } from '../agents/channels.ts';
import type { Deps } from '../deps.ts';
import type { GroundOrder } from '../dialects/common-ground/decode.ts';
import { headersInPayload, strictDepth, traceOfHeaders } from '../dialects/common-ground/headers.ts';
import { ownSubject } from '../dialects/common-ground/subject.ts';
import type { Done } from '../messages/command.ts';
import { keepChunk } from '../streams/chunk.ts';
import { tellChunk } from '../streams/tell-chunk.ts';
import type { Trace } from '../trace.ts';
import { turnAskedBy } from './asked-turn.ts';
import { askToRing } from './bells.ts';
import { callInternal } from './call-internal.ts';
import { callTool } from './call-tool.ts';
import { enqueue, targetOf, violation } from './enqueue.ts';
import { stoppable } from './look-up.ts';
import { receiveReport } from './receive-report.ts';
import { otherChannel } from './rules.ts';
import { stopTurn } from './stop.ts';
import { turnOutcome } from './turn-outcome.ts';
import { act } from './ui-action.ts';

/** What a message of CommonGround asks for. */
export const carryOutOrder = async (
  deps: Deps,
  caller: Caller,
  requestTrace: Trace,
  order: GroundOrder,
): Promise<Done> => {
  ownSubject(order.text, caller.project);
  const stray = headersInPayload(order.sent);
  if (stray.length > 0)
    deps.log('warn', 'a payload has keys that belong to headers', { subject: order.text, keys: stray });
  const trace = traceOfHeaders(order.headers) ?? requestTrace;
  switch (order.do) {
    case 'enqueue': {
      const { turn, duplicate } = await enqueue(deps, caller, turnAskedBy(order, requestTrace));
      const awaited: Done['awaited'] = (waitMs, signal) => turnOutcome(deps, caller, turn, waitMs, signal);
      return { duplicate, agentTurnId: turn, awaited };
    }
    case 'report': {
      refuseOtherTarget(order);
      const depth = strictDepth(order.depth);
      const { ignored } = await receiveReport(deps, caller, order.payload, depth, trace, order.subject.channel);
      return { duplicate: ignored !== undefined };
    }
    case 'stop': {
      const { agent_turn_id: id, agent_id: agent, turn_epoch: epoch, reason } = order.payload;
      refuseOtherTarget(order);
      const turn = await stoppable(deps, caller, id);
      if (turn.channel !== order.subject.channel) throw otherChannel(order.subject.channel, turn.channel);
      return stopTurn(deps, turn, epoch, reason, { caller, agent });
    }
    case 'callTool':
      return callTool(deps, caller, order);
    case 'callInternal':
      return callInternal(deps, caller, order);
    case 'stream': {
      const { agent } = await agentBehind(deps, caller, order.subject.target);
      refuseOtherChannels(agent, order.subject.channel);
      await keepChunk(deps, agent, order.payload);
      await tellChunk(deps, caller, agent, { subject: order.text, chunk: order.payload });
      return { duplicate: false };
    }
    case 'act':
      return act(deps, caller, order, trace);
    case 'wake': {
      const { target, channel } = order.subject;
      if (caller.role === 'agent') refuseOtherChannels(caller.known.agent, channel);
      const { isForGroup } = await targetOf(deps, caller.project, target, channel);
      const about = { project: caller.project, channel, depth: order.depth ?? 0, ...trace, sender: nameOf(caller) };
      const bell = { cause: `bell/${deps.newId()}`, at: deps.clock.now(), target, isForGroup, about } as const;
      await askToRing(deps, { ...bell, inboxId: order.payload.inbox_id, reason: order.payload.reason ?? 'asked' });
      return { duplicate: false };
    }
  }
};

/** Whose turn it is stands in the subject and in the payload. */
const refuseOtherTarget = ({ subject, payload }: Extract<GroundOrder, { do: 'report' | 'stop' }>): void => {
  if (subject.target === payload.agent_id) return;
  throw violation('subject', `The subject names ${subject.target}, but the payload ${payload.agent_id}.`);
};
