import { hash, randomUUID } from 'node:crypto';

export const newId = (): string => randomUUID();

/** A UUID with the shape of version 4 that is always the same for the same seed. */
export const idFrom = (seed: string): string => {
  const hex = hash('sha256', seed, 'hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
