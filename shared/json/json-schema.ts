import * as z from 'zod';

/** The shape that a JSON Schema says. Throws where it cannot be read. Imported when it is first needed, because it takes all of zod. */
export const shapeOf = (schema: object): z.ZodType => z.fromJSONSchema(withoutPatterns(schema));

/** A regular expression of a stranger may take forever; what it says is carried, not checked. */
const withoutPatterns = (schema: object): Record<string, unknown> =>
  JSON.parse(JSON.stringify(schema, (key, value) => (/^pattern(Properties)?$/.test(key) ? undefined : value)));
