import * as z from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../kernel/json/json.ts';
import type { ShownTask } from './api.ts';

/** The step that keeps the answer, which no other question has; else a number, which the next question does not have. */
export const buildInputKey = ({ input, history = [] }: ShownTask): string =>
  input?.step ?? `question-${history.filter(({ event }) => event === 'input_given').length + 1}`;

/** The question of a task as a form. */
export const buildInputRequests = (task: ShownTask): JsonObject => ({
  [buildInputKey(task)]: {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: task.input?.prompt ?? 'The agent asks for input.',
      requestedSchema: toFormSchema(task.input?.schema),
    },
  },
});

const PRIMITIVES = ['string', 'number', 'integer', 'boolean'];

/** Forms have flat objects of plain values; any other answer is one text, under `answer`. */
const toFormSchema = (schema: JsonObject | undefined): JsonObject =>
  schema && isForm(schema)
    ? schema
    : { type: 'object', properties: { answer: toAnswerSchema(schema) }, required: ['answer'] };

const toAnswerSchema = (schema: JsonObject | undefined): JsonObject => {
  if (schema && isPrimitive(schema)) return schema;
  return schema ? { type: 'string', description: `JSON that fits ${JSON.stringify(schema)}` } : { type: 'string' };
};

const isPrimitive = (schema: Json | undefined): boolean =>
  isJsonObject(schema) && typeof schema.type === 'string' && PRIMITIVES.includes(schema.type);

const isForm = ({ type, properties }: JsonObject): boolean =>
  type === 'object' &&
  isJsonObject(properties) &&
  Object.keys(properties).length > 0 &&
  Object.values(properties).every(isPrimitive);

const FormValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
const InputResponse = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), FormValue).optional(),
});

/** The answer in a client's responses; undefined if they have none to the present question. */
export const readAnswer = (task: ShownTask, responses: Json | undefined): Json | undefined => {
  if (!isJsonObject(responses)) return undefined;
  const { success, data } = InputResponse.safeParse(responses[buildInputKey(task)]);
  if (!success) return undefined;
  if (data.action !== 'accept') return { [data.action === 'decline' ? 'declined' : 'cancelled']: true };
  const { schema } = task.input ?? {};
  const content: JsonObject = data.content ?? {};
  if (schema && isForm(schema)) return content;
  const { answer = null } = content;
  return schema === undefined || isPrimitive(schema) ? answer : parseJson(answer);
};

const parseJson = (text: Json): Json => {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};
