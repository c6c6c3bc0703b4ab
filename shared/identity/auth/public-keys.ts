import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** PEM, or DER in base64. */
export const parsePublicKey = (text: string): KeyObject | undefined => {
  try {
    const isPem = text.startsWith('-----BEGIN');
    return isPem
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
};

export const isPrivateKey = (text: string): boolean => {
  if (/PRIVATE KEY|"d"\s*:/.test(text)) return true;
  const key = Buffer.from(text, 'base64');
  return (['pkcs8', 'pkcs1', 'sec1'] as const).some((type) => {
    try {
      createPrivateKey({ key, format: 'der', type });
      return true;
    } catch {
      return false;
    }
  });
};
