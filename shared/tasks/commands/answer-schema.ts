import { ParleyError } from '../../kernel/errors.ts';
import type { Subschema } from '../../kernel/json/compile-json-schema.ts';
import { isObject, type Json } from '../../kernel/json/json.ts';
import type { Task } from '../../model/task.ts';

/** Most tasks come without a question, and do without these. */
const loadJsonSchemaModule = () => import('../../kernel/json/compile-json-schema.ts');
const loadValueChecksModule = () => import('../../kernel/json/check-value.ts');

/** Refuses an answer that has not the shape which the question came with. */
export const loadAnswerValidator = async (): Promise<(asked: Task, answer: Json) => void> => {
  const [{ compileJsonSchema }, { checkValue, TooManyStepsError }] = await Promise.all([
    loadJsonSchemaModule(),
    loadValueChecksModule(),
  ]);
  const compiled = (schema: object): Subschema | undefined => {
    try {
      return compileJsonSchema(schema);
    } catch {
      // A question from before such schemas were refused: nobody could answer it otherwise.
      return undefined;
    }
  };
  return ({ id, prompt }, answer) => {
    const shape = isObject(prompt?.schema) ? compiled(prompt.schema) : undefined;
    if (!shape) return;
    try {
      const issues = checkValue(shape, answer, ['input']);
      if (issues.length === 0) return;
      const fields = issues.map(({ path }) => path).join(', ');
      throw new ParleyError('invalid_request', `The answer for the task ${id} is not valid: ${fields}.`, { issues });
    } catch (error) {
      if (!(error instanceof TooManyStepsError)) throw error;
      throw new ParleyError(
        'too_large',
        `The answer for the task ${id} has too many values to be held against the schema of the question. Give it fewer.`,
        { cause: error },
      );
    }
  };
};

/** For an agent that asks with a schema that nobody could answer to. */
export const assertReadableSchema = async (schema: Json | undefined): Promise<void> => {
  if (!isObject(schema)) return;
  const { compileJsonSchema } = await loadJsonSchemaModule();
  try {
    compileJsonSchema(schema);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'it cannot be read';
    throw new ParleyError('invalid_message', `The schema of the answer is no JSON Schema: ${message.slice(0, 200)}`, {
      issues: [{ path: 'input.schema', message: message.slice(0, 200) }],
      cause,
    });
  }
};
