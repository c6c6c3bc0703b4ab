import * as z from 'zod';
import { code, sentence } from './markdown.ts';

/** As much of JSON Schema as the pages show. */
export const JsonSchema = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  maxItems: z.number().optional(),
  maxLength: z.number().optional(),
  required: z.array(z.string()).optional(),
  $ref: z.string().optional(),
  get properties() {
    return z.record(z.string(), JsonSchema).optional();
  },
  get additionalProperties() {
    return z.union([z.boolean(), JsonSchema]).optional();
  },
  get items() {
    return JsonSchema.optional();
  },
  get anyOf() {
    return z.array(JsonSchema).optional();
  },
  get oneOf() {
    return z.array(JsonSchema).optional();
  },
});
export type JsonSchema = z.output<typeof JsonSchema>;

export interface Field {
  path: string;
  schema: JsonSchema;
  isRequired: boolean;
}

/** The fields of an object, and those of the objects in it: `waiting[].tool_call_id`. */
export const listFields = (schema: JsonSchema, depth: number, prefix = ''): Field[] => {
  const variants = listVariants(schema);
  const fields = variants.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([name, value]) => ({
      path: `${prefix}${name}`,
      schema: value,
      isRequired: required.includes(name),
    })),
  );
  const merged = Map.groupBy(fields, ({ path }) => path)
    .values()
    .map((same) => mergeFields(same, variants.length));
  return [...merged].flatMap((field) => {
    if (depth < 2) return [field];
    const { items } = field.schema;
    const inner = items
      ? listFields(items, depth - 1, `${field.path}[].`)
      : listFields(field.schema, depth - 1, `${field.path}.`);
    return [field, ...inner];
  });
};

/** The same field of several variants. */
const mergeFields = (same: Field[], variants: number): Field => {
  const { path = '', schema = {} } = same[0] ?? {};
  const isRequired = same.length === variants && same.every((field) => field.isRequired);
  const texts = new Set(same.map((field) => JSON.stringify(field.schema)));
  if (texts.size === 1) return { path, schema, isRequired };
  const descriptions = new Set(same.flatMap((field) => field.schema.description ?? []));
  const anyOf = same.map((field) => field.schema);
  return { path, schema: { anyOf, description: [...descriptions].join('; ') }, isRequired };
};

export const listVariants = (schema: JsonSchema): JsonSchema[] => schema.anyOf ?? schema.oneOf ?? [schema];

export const describeType = (schema: JsonSchema): string => {
  const { type, items, format } = schema;
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf || schema.oneOf) return [...new Set(listVariants(schema).map(describeType))].join(' or ');
  if (type === 'array')
    return `array of ${items ? describeType(items) : 'any'}${schema.maxItems ? `, at most ${schema.maxItems}` : ''}`;
  if (type === 'integer' || type === 'number') return `${type}${describeRange(schema)}`;
  return format === 'date-time' ? 'ISO 8601 time' : (type ?? 'any JSON');
};

const describeRange = ({ minimum, maximum }: JsonSchema): string => {
  const [least, most] = [minimum, maximum].map((bound) =>
    Number.isSafeInteger(bound) && Math.abs(bound ?? 0) < Number.MAX_SAFE_INTEGER ? bound : undefined,
  );
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`;
  if (most !== undefined) return `, at most ${most}`;
  return least === undefined || least === 0 ? '' : `, at least ${least}`;
};

export const describeDefault = ({ schema, isRequired }: Field): string => {
  if (schema.default !== undefined) return code(JSON.stringify(schema.default));
  return isRequired ? 'required' : '–';
};

export const toFieldRow = (field: Field): string[] => [
  code(field.path),
  describeType(field.schema),
  describeDefault(field),
  sentence(field.schema.description),
];
