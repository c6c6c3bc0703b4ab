export type Json = string | number | boolean | null | Json[] | JsonObject;
/** A member that is undefined is as good as absent, as in JSON.stringify. */
export type JsonObject = { [key: string]: Json | undefined };

export const isJsonObject = (value: Json | undefined): value is JsonObject => isObject(value);

/** The object that it is, or an empty one. */
export const toObjectOrEmpty = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** For what was parsed from JSON, and so is JSON, which the types of a schema's loose objects no longer tell. */
export const toJsonObject = (value: object): JsonObject => ({ ...value });
