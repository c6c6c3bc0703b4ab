export type Json = string | number | boolean | null | Json[] | JsonObject;
/** An undefined member equals an absent one, as in JSON.stringify. */
export type JsonObject = { [key: string]: Json | undefined };

export const isJsonObject = (value: Json | undefined): value is JsonObject => isObject(value);

export const toObjectOrEmpty = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const toJsonObject = (value: object): JsonObject => ({ ...value });
