import * as z from 'zod';
import { ParleyError } from '../errors.ts';
import { checked } from '../json/checked.ts';
import { isObject, type Json } from '../json/json.ts';
import type { Task } from './task.ts';

/** Most tasks come without a question, and do without this. */
const jsonSchema = () => import('../json/json-schema.ts');

/** Each takes some microseconds, and while they last nothing else is done. */
const MOST_CHECKS = 100_000;

/** Refuses an answer that has not the shape which the question came with. */
export const answerCheck = async (): Promise<(asked: Task, answer: Json) => void> => {
  const { checksFor, shapeOf } = await jsonSchema();
  return ({ id, prompt }, answer) => {
    if (!isObject(prompt?.schema)) return;
    if (checksFor(prompt.schema, answer) > MOST_CHECKS) {
      throw new ParleyError(
        'too_large',
        `The answer for the task ${id} has too many values to be held against the schema of the question. Give it fewer.`,
      );
    }
    const shape = z.object({ input: shapeOf(prompt.schema) });
    checked(shape, { input: answer }, 'invalid_request', `The answer for the task ${id}`);
  };
};

/** For an agent that asks with a schema that nobody could answer to. */
export const refuseUnreadable = async (schema: Json | undefined): Promise<void> => {
  if (!isObject(schema)) return;
  const { shapeOf } = await jsonSchema();
  try {
    shapeOf(schema);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'it cannot be read';
    throw new ParleyError('invalid_message', `The schema of the answer is no JSON Schema: ${message.slice(0, 200)}`, {
      issues: [{ path: 'input.schema', message: message.slice(0, 200) }],
      cause,
    });
  }
};
