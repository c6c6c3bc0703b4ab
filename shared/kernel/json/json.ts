import { ParleyError } from '../errors.ts';
export type Json = string | number | boolean | null | Json[] | JsonObject;
/** An undefined member equals an absent one, as in JSON.stringify. */
export type JsonObject = { [key: string]: Json | undefined };

export const isJsonObject = (value: Json | undefined): value is JsonObject => isObject(value);

export const toObjectOrEmpty = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const toJsonObject = (value: object): JsonObject => ({ ...value });

export interface MeasuredJson<T> {
  value: T;
  json: string;
  bytes: number;
}

export const measureJson = <T>(value: T): MeasuredJson<T> => {
  const text = JSON.stringify(value) ?? '';
  return { value, json: text, bytes: Buffer.byteLength(text) };
};

export const assertMaxSize = <T>(what: string, value: T, limit: number): MeasuredJson<T> => {
  const found = measureJson(value);
  const { bytes } = found;
  if (bytes <= limit) return found;
  throw new ParleyError('too_large', `${what} has ${bytes} bytes; ${limit} are allowed.`, {
    details: { limit, bytes },
  });
};
