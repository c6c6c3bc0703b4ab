import { isJsonObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { decodeHeader, headerMismatchError } from '../header-values.ts';

type Headers = Readonly<Record<string, string | undefined>>;

/** A schema may have a parameter repeated in a header, for whoever routes by it. Both must say the same. */
export const assertParameterHeadersMatch = (schema: JsonObject, args: Json | undefined, headers: Headers): void => {
  const { properties } = schema;
  if (!isJsonObject(properties)) return;
  for (const [field, part] of Object.entries(properties)) {
    if (!isJsonObject(part)) continue;
    const value = isJsonObject(args) ? args[field] : undefined;
    const { 'x-mcp-header': name } = part;
    if (typeof name === 'string') assertHeaderMatches(`Mcp-Param-${name}`, value, headers);
    assertParameterHeadersMatch(part, value, headers);
  }
};

const assertHeaderMatches = (name: string, value: Json | undefined, headers: Headers): void => {
  const given = decodeHeader(headers[name.toLowerCase()]);
  if (value === undefined || value === null) return;
  const isSame = typeof value === 'number' ? given !== undefined && Number(given) === value : given === String(value);
  if (!isSame) throw headerMismatchError(name, given, String(value));
};
