export type Json = string | number | boolean | null | Json[] | JsonObject;
/** A member that is undefined is as good as absent, as in JSON.stringify. */
export type JsonObject = { [key: string]: Json | undefined };

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
