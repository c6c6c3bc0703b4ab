import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { assertMaxSize, isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { loadSchemaChecker, type SchemaChecker } from '../../kernel/json/schema-checker.ts';
import type { Task } from '../../model/task.ts';
import { toTransitionContext } from '../transitions/end-and-requeue.ts';
import { provideInput } from '../transitions/holder-transitions.ts';
import { updateAsRequester } from './manage-task.ts';

/** Of an answer that is a message with an id. */
interface AnswerDetails {
  messageId?: string;
  extensions?: JsonObject | undefined;
}

/** Idempotent. */
export const answerTask = async (
  deps: Deps,
  caller: Caller,
  id: string,
  answer: Json,
  { messageId, extensions }: AnswerDetails = {},
): Promise<{ duplicate: boolean; task: Task }> => {
  assertMaxSize('The answer', [answer, extensions ?? {}], deps.config.limits.extensionBytes);
  const check = await loadSchemaChecker();
  let duplicate = false;
  const task = await updateAsRequester(deps, caller, id, (asked) => {
    duplicate = asked.status !== 'input_required' && isSameAnswer(asked, answer);
    if (duplicate) return 'unchanged';
    if (asked.status === 'input_required') assertAnswerFits(check, asked, answer);
    const by = { agent: getCallerName(caller), messageId, extensions };
    return provideInput(asked, toTransitionContext(deps), answer, by);
  });
  return { duplicate, task };
};

const assertAnswerFits = (check: SchemaChecker, { id, prompt }: Task, answer: Json): void => {
  const issues = isObject(prompt?.schema) ? check(prompt.schema, answer, 'input') : [];
  if (issues.length === 0) return;
  const fields = issues.map(({ path }) => path).join(', ');
  throw new ParleyError('invalid_request', `The answer for the task ${id} is not valid: ${fields}.`, { issues });
};

const isSameAnswer = (task: Task, answer: Json): boolean =>
  task.answer !== undefined && computeFingerprint(task.answer) === computeFingerprint(answer);
