import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent } from '../../kernel/errors.ts';
import type { DirectMessageCommand } from '../../model/command.ts';
import { directMessageRef } from '../../model/direct-message.ts';
import { holderKey, type Task } from '../../model/task.ts';
import { applyReport } from '../../tasks/commands/apply-report.ts';

/** An agent with more tasks must name the task. */
const MAX_ASSIGNED_READ = 100;

/**
 * A failure that names a request id instead of a task: it fails the one task with that request id that the sender holds for
 * the recipient. Returns whether it did. It is then stored as a hidden direct message, to recognise a repetition.
 */
export const failByRequestId = async (
  deps: Deps,
  sender: RegisteredAgent,
  message: DirectMessageCommand,
): Promise<boolean> => {
  const { failsRequest, to, from, messageId, fingerprint, extensions, auditEntry } = message;
  if (!failsRequest) return false;
  const { project, id } = sender.agent;
  if (await deps.records.get(directMessageRef(project, from, messageId))) return false;
  const held = await deps.records.query<Task>({
    index: 'byHolder',
    pk: holderKey(project, id),
    limit: MAX_ASSIGNED_READ,
  });
  const [task, ...more] = held.filter((one) => one.requestId === failsRequest.requestId && one.from === to);
  if (!task || more.length > 0 || held.length === MAX_ASSIGNED_READ) return false;
  try {
    await applyReport(deps, sender, {
      kind: 'fail',
      messageId,
      fingerprint,
      from,
      taskId: task.id,
      error: failsRequest.error,
      extensions,
      auditEntry,
    });
    return true;
  } catch (error) {
    // The task has ended meanwhile.
    if (isPermanent(error)) return false;
    throw error;
  }
};
