import { ParleyError } from '../errors.ts';

export const refuseTooLarge = (what: string, value: unknown, limit: number): void => {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
  if (bytes <= limit) return;
  throw new ParleyError('too_large', `${what} has ${bytes} bytes; ${limit} are allowed.`, { facts: { limit, bytes } });
};
