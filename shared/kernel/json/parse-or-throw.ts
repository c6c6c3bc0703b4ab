import * as z from 'zod';
import { type Issue, ParleyError, type ParleyErrorCode } from '../errors.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { omitRejectedNulls } from './omit-nulls.ts';

/** Parsed JSON needs no check below the top level. */
export const jsonObject = z.custom<JsonObject>(isObject, 'must be an object').meta({ type: 'object' });

export const jsonValue = z.custom<Json>((value) => value !== undefined, 'must be there').meta({});

/** A schema that transforms checks the inner fields after the outer ones. */
const MAX_NULL_LAYERS = 4;

/**
 * A null where the schema takes none is an absent field: pydantic's `model_dump()` writes None for each field that nobody set.
 * Messages without such nulls are parsed once.
 */
const parseWithoutNulls = <T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> => {
  let parsed = schema.safeParse(value, { error: formatZodIssue });
  let rest = value;
  for (let layer = 0; layer < MAX_NULL_LAYERS && parsed.error; layer++) {
    rest = omitRejectedNulls(rest, parsed.error.issues);
    if (rest === undefined) break;
    parsed = schema.safeParse(rest, { error: formatZodIssue });
  }
  return parsed;
};

/** One error lists every issue. */
export const parseOrThrow = <T>(schema: z.ZodType<T>, value: unknown, code: ParleyErrorCode, what: string): T => {
  const parsed = parseWithoutNulls(schema, value);
  if (parsed.success) return parsed.data;
  const issues = toIssues(parsed.error);
  const fields = issues.map(({ path }) => path || '(the whole)').join(', ');
  const facts = code === 'protocol_violation' ? { violated: issues[0]?.path || 'body' } : undefined;
  throw new ParleyError(code, `${what} is not valid: ${fields}.`, { issues, details: facts });
};

export const validate = (schema: z.ZodType, value: unknown): Issue[] => {
  const parsed = parseWithoutNulls(schema, value);
  return parsed.success ? [] : toIssues(parsed.error);
};

/** A hostile message could have thousands. */
export const MAX_ISSUES = 20;
/** Paths and messages quote input of any length. */
export const MAX_ISSUE_TEXT = 200;

const toIssues = ({ issues }: z.ZodError): Issue[] =>
  issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.slice(0, MAX_ISSUES).map((key) => ({ path: [...issue.path, key], message: 'unknown field' }))
        : [issue],
    )
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => ({
      path: formatPath(path).slice(0, MAX_ISSUE_TEXT),
      message: message.slice(0, MAX_ISSUE_TEXT),
    }));

export const REQUIRED_MESSAGE = 'is required';

const formatZodIssue = (issue: z.core.$ZodRawIssue): string | undefined => {
  if (issue.input === undefined) return REQUIRED_MESSAGE;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'invalid_union':
      return Array.isArray(issue.options) ? `must be one of ${issue.options.join(', ')}` : 'must have another shape';
    case 'too_small':
      return `must be at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    default:
      return undefined;
  }
};

const TYPE_NAMES: Partial<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

const UNITS: Partial<Record<string, string>> = { string: ' characters long', array: ' items long' };

export const formatPath = (path: PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, MAX_ISSUE_TEXT)}`))
    .join('')
    .replace(/^\./, '');
