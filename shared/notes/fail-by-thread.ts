import type { Known } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { NoteMessage } from '../messages/command.ts';
import { report } from '../tasks/report.ts';
import { heldPlace, type Task } from '../tasks/task.ts';
import { noteRef } from './note.ts';

/** An agent that holds more than this must say which task it means. */
const LOOKED_AT = 100;

/**
 * A failure that names no task, but a thread: it ends the one task of that thread which its sender holds for its recipient.
 * Says whether it did; it is then kept as a note that nobody is shown, so that the same message again is known.
 */
export const failByThread = async (deps: Deps, sender: Known, message: NoteMessage): Promise<boolean> => {
  const { failing, to, from, messageId, fingerprint, carried, told } = message;
  if (!failing) return false;
  const { project, id } = sender.agent;
  if (await deps.records.get(noteRef(project, from, messageId))) return false;
  const held = await deps.records.query<Task>({ index: 'held', p: heldPlace(project, id), limit: LOOKED_AT });
  const [task, ...more] = held.filter((one) => one.thread === failing.thread && one.from === to);
  if (!task || more.length > 0 || held.length === LOOKED_AT) return false;
  try {
    await report(deps, sender, {
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
