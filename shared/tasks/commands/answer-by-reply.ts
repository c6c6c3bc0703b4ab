import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { TaskReport } from '../../model/command.ts';
import { findTaskByQuestion } from '../ids/question-ids.ts';
import { answerTask } from './answer-task.ts';

/** The sender is no party to a question, or nobody waits for the answer. */
const NO_ANSWER_CODES: ReadonlySet<string> = new Set(['forbidden', 'task_not_found', 'not_waiting']);

/** A progress report of the requester answers the question of the holder, if there is one. */
export const answerByReply = async (
  deps: Deps,
  sender: RegisteredAgent,
  report: TaskReport,
  rejection: unknown,
): Promise<{ duplicate: boolean }> => {
  const { reply, messageId } = report;
  if (!reply || !(rejection instanceof ParleyError)) throw rejection;
  const taskId = await findAskedTask(deps, sender, report, rejection);
  if (taskId === undefined) throw rejection;
  const caller: Caller = { project: sender.agent.project, role: 'agent', registered: sender };
  try {
    return await answerTask(deps, caller, taskId, reply.content, { messageId, extensions: reply.extensions });
  } catch (error) {
    throw error instanceof ParleyError && NO_ANSWER_CODES.has(error.code) ? rejection : error;
  }
};

const findAskedTask = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  { taskId, reply }: TaskReport,
  { code }: ParleyError,
): Promise<string | undefined> => {
  if (code === 'not_holder') return taskId;
  if (code !== 'task_not_found' || reply?.to === undefined) return undefined;
  return findTaskByQuestion(deps, agent.project, { requester: agent.id, holder: reply.to, id: taskId });
};
