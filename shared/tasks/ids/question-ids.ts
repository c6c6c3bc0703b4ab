import type { Deps } from '../../identity/deps.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import type { Item, Ref } from '../../ports/records.ts';

/** The id of a question, for replies that name only that. */
interface QuestionId extends Item {
  taskId: string;
}

interface Question {
  requester: string;
  /** Ids are unique per agent only. */
  holder: string;
  /** As its requester reads it. */
  id: string;
}

const questionRef = (project: string, { requester, holder, id }: Question): Ref<QuestionId> => ({
  pk: `${project}#question#${requester}#${holder}#${id}`,
  sk: 'alias',
});

/** Awaited before the requester reads the id. */
export const putQuestionId = async (
  { records, clock, newId }: Deps,
  project: string,
  question: Question,
  taskId: string,
): Promise<void> => {
  const set = { taskId, expires: clock.now() + RELATED_RETENTION_MS };
  await records.update(questionRef(project, question), { set }, newId(), 'orCreate');
};

export const findTaskByQuestion = async (
  { records }: Deps,
  project: string,
  question: Question,
): Promise<string | undefined> => (await records.get(questionRef(project, question)))?.taskId;
