import { type CommonGroundCommand, isCommonGroundMessage } from '../../dialects/common-ground/decode.ts';
import { getRequiredDepth, listHeaderLikeKeys, parseTraceHeaders } from '../../dialects/common-ground/headers.ts';
import { parseProjectSubject } from '../../dialects/common-ground/subject.ts';
import { hasHeaderIdentity } from '../../dialects/common-ground/versions.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import { type Caller, findAgent, getCallerName, resolveActor } from '../../identity/auth/authenticate.ts';
import { assertChannelAccess } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { pickTraceFields, type Trace } from '../../kernel/trace.ts';
import type { CommandResult, ProtocolMessage } from '../../model/command.ts';
import { enqueueTurn, protocolViolationError, resolveTurnTarget } from '../../turns/lifecycle/enqueue.ts';
import { channelMismatchError } from '../../turns/lifecycle/rules.ts';
import { stopTurn } from '../../turns/lifecycle/stop-turn.ts';
import { getStoppableTurn, waitForTurnOutcome } from '../../turns/queries/get-turn.ts';
import { appendChunk } from '../../turns/streams/chunk.ts';
import { relayChunk } from '../../turns/streams/relay-chunk.ts';
import { callTool } from '../../turns/tool-calls/call-tool.ts';
import { callInternalTool } from '../../turns/tool-calls/internal-tools.ts';
import { receiveReport } from '../../turns/tool-calls/receive-report.ts';
import { createUiAction } from '../../turns/ui-actions/ui-action.ts';
import { createWakeup } from '../../turns/wakeups/wakeups.ts';
import { tellUser } from './tell-user.ts';
import { toEnqueueRequest, toReceivedReport, toToolCommand, toUiActionRequest } from './to-turn-command.ts';

/** What a message of CommonGround asks for. */
export const executeMessage = async (
  deps: Deps,
  caller: Caller,
  requestTrace: Trace,
  message: ProtocolMessage,
): Promise<CommandResult> => {
  if (!isCommonGroundMessage(message)) throw new Error(`This is a message of ${message.dialect}.`);
  const { command, messageId } = message;
  parseProjectSubject(command.subjectText, caller.project);
  const stray = listHeaderLikeKeys(command.rawPayload);
  if (stray.length > 0) deps.log('warn', 'payload contains header keys', { subject: command.subjectText, keys: stray });
  const trace = parseTraceHeaders(command.headers) ?? requestTrace;
  switch (command.do) {
    case 'enqueue': {
      const { turn, duplicate } = await enqueueTurn(deps, caller, toEnqueueRequest(command, requestTrace));
      const awaited: CommandResult['waitForOutcome'] = (waitMs, signal) =>
        waitForTurnOutcome(deps, caller, turn, waitMs, signal);
      return { duplicate, agentTurnId: turn, waitForOutcome: awaited };
    }
    case 'report': {
      assertSameTarget(command);
      const depth = hasHeaderIdentity(command.subject) ? command.depth : getRequiredDepth(command.depth);
      const { ignored } = await receiveReport(
        deps,
        caller,
        toReceivedReport(command.payload),
        depth,
        trace,
        command.subject.channel,
      );
      return { duplicate: ignored !== undefined };
    }
    case 'stop': {
      const { agent_turn_id: id, agent_id: agent, turn_epoch: epoch, reason } = command.payload;
      assertSameTarget(command);
      const turn = await getStoppableTurn(deps, caller, id);
      if (turn.channel !== command.subject.channel) throw channelMismatchError(command.subject.channel, turn.channel);
      return stopTurn(deps, turn, epoch, reason, { caller, agent });
    }
    case 'callTool':
      return callTool(deps, caller, toToolCommand(command));
    case 'callInternal':
      return callInternalTool(deps, caller, toToolCommand(command));
    case 'stream': {
      const { agent } = await resolveActor(deps, caller, command.subject.target);
      assertChannelAccess(agent, command.subject.channel);
      await appendChunk(deps, agent, command.payload);
      await relayChunk(deps, caller, agent, { subject: command.subjectText, chunk: command.payload });
      return { duplicate: false };
    }
    case 'uiAction':
      return createUiAction(deps, caller, toUiActionRequest(command), trace);
    case 'tellUser':
      return tellUser(deps, caller, command, messageId, trace);
    case 'wake': {
      const { channel } = command.subject;
      if (caller.role === 'agent') assertChannelAccess(caller.registered.agent, channel);
      const target = await resolveWokenAgent(deps, caller.project, command);
      const { isForGroup } = await resolveTurnTarget(deps, caller.project, target, channel);
      const publishedTarget = caller.role === 'agent' && caller.viaRelay ? command.subject.target : undefined;
      const about = {
        project: caller.project,
        channel,
        depth: command.depth ?? 0,
        ...pickTraceFields(trace),
        protocolVersion: turnProtocol.resolveVersion(deps.config, command.subject.version),
        sender: getCallerName(caller),
      };
      const wakeup = {
        cause: `bell/${deps.newId()}`,
        at: deps.clock.now(),
        target,
        isForGroup,
        publishedTarget,
        context: about,
      } as const;
      await createWakeup(deps, {
        ...wakeup,
        inboxId: command.payload.inbox_id,
        reason: command.payload.reason ?? 'asked',
      });
      return { duplicate: false };
    }
  }
};

/** The subject names an agent, a group, or the workers of the agent that the payload names. */
const resolveWokenAgent = async (
  deps: Deps,
  project: string,
  { subject: { target }, payload: { agent_id: named } }: Extract<CommonGroundCommand, { do: 'wake' }>,
): Promise<string> => ((await findAgent(deps, project, named))?.agent.workerTarget === target ? named : target);

/** Whose turn it is stands in the subject and in the payload. */
const assertSameTarget = ({ subject, payload }: Extract<CommonGroundCommand, { do: 'report' | 'stop' }>): void => {
  if (subject.target === payload.agent_id) return;
  throw protocolViolationError('subject', `The subject names ${subject.target}, but the payload ${payload.agent_id}.`);
};
