import * as z from 'zod';
import type { JsonObject } from './json.ts';

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'] as const;

const schemas = z.lazy(() => z.array(AnySchema).min(1));
const named = z.lazy(() => z.record(z.string(), AnySchema));
const one = z.lazy(() => AnySchema);
const names = z.array(z.string());
const count = z.number().int().min(0);

/** What JSON Schema 2020-12 asks of its keywords; what it does not know may be anything. */
const KEYWORDS = {
  type: z.union([z.enum(TYPES), z.array(z.enum(TYPES)).min(1)]),
  properties: named,
  patternProperties: named,
  $defs: named,
  definitions: named,
  dependentSchemas: named,
  items: one,
  additionalProperties: one,
  propertyNames: one,
  unevaluatedProperties: one,
  unevaluatedItems: one,
  contains: one,
  not: one,
  if: one,
  // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
  then: one,
  else: one,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  prefixItems: schemas,
  required: names,
  dependentRequired: z.record(z.string(), names),
  enum: z.array(z.unknown()),
  $ref: z.string(),
  $id: z.string(),
  $anchor: z.string(),
  title: z.string(),
  description: z.string(),
  format: z.string(),
  pattern: z.string(),
  multipleOf: z.number().positive(),
  minimum: z.number(),
  maximum: z.number(),
  exclusiveMinimum: z.number(),
  exclusiveMaximum: z.number(),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minProperties: count,
  maxProperties: count,
  uniqueItems: z.boolean(),
  examples: z.array(z.unknown()),
};

const ObjectSchema = z.looseObject(KEYWORDS).partial();
const AnySchema: z.ZodType = z.union([z.boolean(), ObjectSchema]);

/** A JSON Schema of objects, as tools describe their parameters. */
export const JsonSchema = z
  .custom<JsonObject>()
  .superRefine((value, context) => {
    const parsed = ObjectSchema.safeParse(value);
    for (const { path, message } of parsed.error?.issues ?? []) {
      context.addIssue({ code: 'custom', path, message: `is not JSON Schema: ${message}` });
    }
  })
  .meta({ type: 'object', description: 'a JSON Schema' });
