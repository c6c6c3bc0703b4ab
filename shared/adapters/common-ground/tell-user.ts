import type { CommonGroundCommand } from '../../dialects/common-ground/decode.ts';
import { COMMON_GROUND } from '../../dialects/common-ground/name.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import { type Caller, findAgent, getCallerName } from '../../identity/auth/authenticate.ts';
import { assertChannelAccess } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { assertNotReserved } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Trace } from '../../kernel/trace.ts';
import { sendDirectMessage } from '../../messaging/direct-messages/send-direct-message.ts';

/** Puts a message into the inbox of the agent that stands for a user, as it was sent. */
export const tellUser = async (
  deps: Deps,
  caller: Caller,
  command: Extract<CommonGroundCommand, { do: 'tellUser' }>,
  messageId: string,
  trace: Trace,
): Promise<{ duplicate: boolean }> => {
  const { subject, subjectText, headers, rawPayload, depth = 0 } = command;
  const { target, channel, suffix, version } = subject;
  const { project } = caller;
  if (command.payload.message_id !== undefined) assertNotReserved('A message', messageId);
  if (caller.role === 'agent') assertChannelAccess(caller.registered.agent, channel);
  const user = await findAgent(deps, project, target);
  if (user) assertChannelAccess(user.agent, channel);
  // Its agent on NATS has heard it on its subject.
  if (caller.role === 'agent' && caller.viaRelay && user?.agent.transport === 'nats') return { duplicate: false };
  const from = getCallerName(caller);
  const missing = { at: deps.clock.now(), type: `cmd.user.${suffix}`, sender: from, depth, version };
  return sendDirectMessage(
    deps,
    { project, dialect: COMMON_GROUND, trace, isVisible: true },
    {
      kind: 'directMessage',
      messageId,
      fingerprint: computeFingerprint([subjectText, rawPayload]),
      from,
      to: target,
      type: `${COMMON_GROUND}.${suffix}`,
      priority: 'normal',
      content: rawPayload,
      extensions: turnProtocol.toExtensions({
        subject: subjectText,
        headers: turnProtocol.completeHeaders(headers, missing, trace, {}),
        channel,
        depth,
      }),
    },
  );
};
