import type { JsonObject } from './json.ts';

/** A schema of any library that follows https://standardschema.dev (Zod, Valibot, ArkType, Effect …). */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Of libraries that can write themselves as JSON Schema. */
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export const isStandardSchema = (value: unknown): value is StandardSchema =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;

export class SchemaError extends Error {
  readonly issues: readonly SchemaIssue[];

  constructor(what: string, issues: readonly SchemaIssue[]) {
    super(`${what} is not valid: ${issues.map(formatIssue).join('; ')}`);
    this.name = 'SchemaError';
    this.issues = issues;
  }
}

const formatIssue = ({ path = [], message }: SchemaIssue): string => {
  const names = path.map((step) => String(typeof step === 'object' ? step.key : step));
  return names.length > 0 ? `${names.join('.')}: ${message}` : message;
};

export const parseWith = async <T>(schema: StandardSchema<T>, value: unknown, what: string): Promise<T> => {
  const result = await schema['~standard'].validate(value);
  if (result.issues) throw new SchemaError(what, result.issues);
  return result.value;
};

/** As JSON Schema, where the library can write it. */
export const toJsonSchema = (schema: StandardSchema): JsonObject | undefined =>
  schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) as JsonObject | undefined;
