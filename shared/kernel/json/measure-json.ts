import { ParleyError } from '../errors.ts';

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
