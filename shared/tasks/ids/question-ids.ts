import type { Deps } from '../../identity/deps.ts';
import type { Item, Ref } from '../../ports/records.ts';

/** Under which id the requester of a task was asked, where a reply names no more than that. */
interface QuestionId extends Item {
  taskId: string;
}

interface Question {
  requester: string;
  /** Agents choose the ids of their messages: each has names of its own. */
  holder: string;
  /** As the requester reads it. */
  id: string;
}

/** As long as the question may wait in an inbox. */
const QUESTION_RETENTION_MS = 30 * 86_400_000;

const questionRef = (project: string, { requester, holder, id }: Question): Ref<QuestionId> => ({
  pk: `${project}#question#${requester}#${holder}#${id}`,
  sk: 'alias',
});

/** The requester is told the id only when this has resolved. */
export const putQuestionId = async (
  { records, clock, newId }: Deps,
  project: string,
  question: Question,
  taskId: string,
): Promise<void> => {
  const set = { taskId, expires: clock.now() + QUESTION_RETENTION_MS };
  await records.update(questionRef(project, question), { set }, newId(), 'orCreate');
};

export const findTaskByQuestion = async (
  { records }: Deps,
  project: string,
  question: Question,
): Promise<string | undefined> => (await records.get(questionRef(project, question)))?.taskId;
