import { readsAllInInbox } from '../dialects/registry.ts';
import type { RegisteredAgent } from '../identity/agents/agent.ts';
import { assertCoordinator } from '../identity/agents/agent-control.ts';
import { recordHeartbeat, recordStatusReport } from '../identity/agents/agent-health.ts';
import { type Caller, findAgent } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { failByRequestId } from '../messaging/direct-messages/fail-by-request-id.ts';
import { sendDirectMessage } from '../messaging/direct-messages/send-direct-message.ts';
import type { DirectMessageCommand, HeartbeatMessage } from '../model/command.ts';
import type { CreateTaskResult } from '../tasks/commands/create-task.ts';
import type { ReceiveContext } from './ingest-message.ts';

export { createBroadcast } from '../messaging/broadcasts/fan-out.ts';
export { recordAndRejectViolation } from '../messaging/violations/violation.ts';
export { answerByReply } from '../tasks/commands/answer-by-reply.ts';
export { answerTask } from '../tasks/commands/answer-task.ts';

/** Relayed to agents that read all messages. A full inbox, or a missing recipient, does not invalidate a heartbeat. */
export const executeHeartbeat = async (
  deps: Deps,
  { project }: Caller,
  { trace, publishedAt }: ReceiveContext,
  dialect: string,
  sender: RegisteredAgent,
  heartbeat: HeartbeatMessage,
): Promise<{ duplicate: boolean }> => {
  const { message } = heartbeat;
  const recipient = message && (await findAgent(deps, project, message.to));
  // Before it is recorded: a repetition does both.
  if (recipient && readsAllInInbox(recipient.agent))
    await sendDirectMessage(deps, { project, dialect, trace, isVisible: true, isDroppable: true }, message);
  return recordHeartbeat(deps, sender, heartbeat, publishedAt);
};

export const executeDirectMessage = async (
  deps: Deps,
  caller: Caller,
  { trace, publishedAt }: ReceiveContext,
  dialect: string,
  sender: RegisteredAgent,
  directMessage: DirectMessageCommand,
): Promise<CreateTaskResult> => {
  const isShown = !(await failByRequestId(deps, sender, directMessage));
  if (directMessage.needsCoordinator) assertCoordinator(caller, 'give orders');
  const sent = await sendDirectMessage(
    deps,
    { project: caller.project, dialect, trace, isVisible: isShown },
    directMessage,
  );
  if (directMessage.statusReport && !sent.duplicate)
    await recordStatusReport(deps, sender, directMessage.statusReport, publishedAt);
  return sent.duplicate ? sent : { ...sent, notices: directMessage.notices };
};
