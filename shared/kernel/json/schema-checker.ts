import { type Issue, ParleyError, type ParleyErrorCode } from '../errors.ts';
import type { Subschema } from './compile-json-schema.ts';
import { isObject, type Json } from './json.ts';

/** Most messages come without a schema, and do without these. */
const loadJsonSchemaModule = () => import('./compile-json-schema.ts');
const loadValueChecksModule = () => import('./check-value.ts');

/** What is wrong with a value; its path in an issue begins with `root`. A schema that cannot be read finds nothing wrong. */
export type SchemaChecker = (schema: object, value: Json, root: string) => Issue[];

/** A registration is remembered for some seconds, and its schemas with it; `undefined` for one that cannot be read. */
const compiledSchemas = new WeakMap<object, { part: Subschema | undefined }>();

/** Throws `too_large` for a value that takes too many steps. */
export const loadSchemaChecker = async (): Promise<SchemaChecker> => {
  const [{ compileJsonSchema }, { checkValue, TooManyStepsError }] = await Promise.all([
    loadJsonSchemaModule(),
    loadValueChecksModule(),
  ]);
  const compile = (schema: object): Subschema | undefined => {
    try {
      return compileJsonSchema(schema);
    } catch {
      // One from before such schemas were refused: nobody could meet it otherwise.
      return undefined;
    }
  };
  return (schema, value, root) => {
    const { part } = compiledSchemas.get(schema) ?? { part: compile(schema) };
    compiledSchemas.set(schema, { part });
    if (!part) return [];
    try {
      return checkValue(part, value, [root]);
    } catch (cause) {
      if (!(cause instanceof TooManyStepsError)) throw cause;
      throw new ParleyError(
        'too_large',
        `The ${root} has too many values to be held against its schema. Give it fewer.`,
        { cause },
      );
    }
  };
};

/** For whoever brings a schema that nobody could meet. */
export const assertReadableSchema = async (
  schema: Json | undefined,
  path: string,
  code: ParleyErrorCode,
): Promise<void> => {
  if (!isObject(schema)) return;
  const { compileJsonSchema } = await loadJsonSchemaModule();
  try {
    compileJsonSchema(schema);
  } catch (cause) {
    const message = (cause instanceof Error ? cause.message : 'it cannot be read').slice(0, 200);
    throw new ParleyError(code, `${path} is no JSON Schema that can be checked: ${message}`, {
      issues: [{ path, message }],
      cause,
    });
  }
};
