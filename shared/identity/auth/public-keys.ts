import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** The key in PEM, or in base64 as DER; undefined where it is neither. */
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

/** Whether it is the half that nobody else may see, in any form that keys are written in. */
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
