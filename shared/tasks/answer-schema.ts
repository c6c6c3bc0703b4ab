import * as z from 'zod';
import { ParleyError } from '../errors.ts';
import { checked } from '../json/checked.ts';
import { isObject, type Json } from '../json/json.ts';
import type { Task } from './task.ts';

/** Where the question came with a JSON Schema, the answer must have its shape. */
export const refuseUnsuitable = ({ id, prompt }: Task, answer: Json): void => {
  const shape = shapeOf(prompt?.schema);
  if (shape) checked(z.object({ input: shape }), { input: answer }, 'invalid_request', `The answer for the task ${id}`);
};

/** For an agent that asks with a schema that nobody could answer to. */
export const refuseUnreadable = (schema: Json | undefined): void => {
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

const shapeOf = (schema: Json | undefined): z.ZodType | undefined =>
  isObject(schema) ? z.fromJSONSchema(withoutPatterns(schema)) : undefined;

/** A regular expression of a stranger may take forever; what it says is carried, not checked. */
const withoutPatterns = (schema: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(schema, (key, value) => (/^pattern(Properties)?$/.test(key) ? undefined : value)));
