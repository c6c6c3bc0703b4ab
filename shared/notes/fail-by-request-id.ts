import type { RegisteredAgent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { DirectMessageCommand } from '../messages/command.ts';
import { applyReport } from '../tasks/apply-report.ts';
import { holderKey, type Task } from '../tasks/task.ts';
import { directMessageRef } from './direct-message.ts';

/** An agent that holds more than this must say which task it means. */
const MAX_ASSIGNED_READ = 100;

/**
 * A failure that names no task, but a thread: it ends the one task of that thread which its sender holds for its recipient.
 * Says whether it did; it is then kept as a note that nobody is shown, so that the same message again is known.
 */
export const failByRequestId = async (
  deps: Deps,
  sender: RegisteredAgent,
  message: DirectMessageCommand,
): Promise<boolean> => {
  const { failing, to, from, messageId, fingerprint, carried, told } = message;
  if (!failing) return false;
  const { project, id } = sender.agent;
  if (await deps.records.get(directMessageRef(project, from, messageId))) return false;
  const held = await deps.records.query<Task>({ index: 'held', p: holderKey(project, id), limit: MAX_ASSIGNED_READ });
  const [task, ...more] = held.filter((one) => one.thread === failing.thread && one.from === to);
  if (!task || more.length > 0 || held.length === MAX_ASSIGNED_READ) return false;
  try {
    await applyReport(deps, sender, {
      kind: 'fail',
      messageId,
      fingerprint,
      from,
      taskId: task.id,
      error: failing.error,
      carried,
      told,
    });
    return true;
  } catch (error) {
    // Somebody else ended it meanwhile, so that the message is about no open task any more.
    if (error instanceof ParleyError && error.retry === 'never') return false;
    throw error;
  }
};
