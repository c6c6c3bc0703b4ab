import * as z from 'zod';
import { type Code, type Issue, ParleyError } from '../errors.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

/** Any object. What came as JSON is JSON all the way down, so that nothing inside needs a look. */
export const jsonObject = z.custom<JsonObject>(isObject, 'must be an object').meta({ type: 'object' });

/** Any value at all, as long as there is one. */
export const jsonValue = z.custom<Json>((value) => value !== undefined, 'must be there').meta({});

/** The value in the schema's shape, or one error with everything that is wrong with it. */
export const checked = <T>(schema: z.ZodType<T>, value: unknown, code: Code, what: string): T => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error);
  const fields = issues.map(({ path }) => path || '(the whole)').join(', ');
  throw new ParleyError(code, `${what} is not valid: ${fields}.`, { issues });
};

/** What is wrong with the value; nothing, if it has the schema's shape. */
export const complaints = (schema: z.ZodType, value: unknown): Issue[] => {
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : issuesOf(parsed.error);
};

/** The first twenty are enough to mend a message by; a hostile one could have thousands. */
const MAX_ISSUES = 20;
/** Paths and messages quote what was sent, which may be of any length. */
const MAX_TEXT = 200;

const issuesOf = ({ issues }: z.ZodError): Issue[] =>
  issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    path: pathOf(path).slice(0, MAX_TEXT),
    message: message.slice(0, MAX_TEXT),
  }));

export const pathOf = (path: PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');
