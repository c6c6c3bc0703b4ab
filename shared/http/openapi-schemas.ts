import * as z from 'zod';

const COMPONENTS = '#/components/schemas/';

/** Each schema of the document under one name: its `id`, or a name made from the call that it belongs to. */
export class OpenApiSchemas {
  readonly named: Record<string, object> = {};

  describe(schema: z.ZodType, io: 'input' | 'output', name: string): object {
    const { $defs = {}, ...rest } = toJsonSchema(schema, io);
    for (const [id, definition] of Object.entries($defs)) this.add(id, toComponentRefs(definition));
    const body = toComponentRefs(rest);
    return '$ref' in body ? body : this.add(z.globalRegistry.get(schema)?.id ?? name, body);
  }

  add(name: string, schema: object): object {
    const same = Object.keys(this.named).find((other) => isSame(other, name) && isEqual(this.named[other], schema));
    if (same === undefined && name in this.named) throw new Error(`two schemas of the API are called ${name}`);
    this.named[same ?? name] = schema;
    return { $ref: `${COMPONENTS}${same ?? name}` };
  }
}

/** The statuses of one call often have the same response. */
const isSame = (one: string, other: string): boolean => one.replace(/\d{3}$/, '') === other.replace(/\d{3}$/, '');

const isEqual = (one: object | undefined, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);

const toComponentRefs = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', `"$ref":"${COMPONENTS}`));

export const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output') => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
};
