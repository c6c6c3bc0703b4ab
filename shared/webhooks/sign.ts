import { createHmac, randomBytes } from 'node:crypto';

/** Of Standard Webhooks: https://www.standardwebhooks.com */
const SECRET_PREFIX = 'whsec_';

export const generateWebhookSecret = (): string => `${SECRET_PREFIX}${randomBytes(32).toString('base64')}`;

const toKey = (secret: string): Buffer =>
  secret.startsWith(SECRET_PREFIX) ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64') : Buffer.from(secret);

export const buildWebhookHeaders = (
  id: string,
  at: number,
  body: string,
  secret: string | undefined,
): Record<string, string> => {
  const timestamp = String(Math.floor(at / 1000));
  const about = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return about;
  const signature = createHmac('sha256', toKey(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...about, 'webhook-signature': `v1,${signature}` };
};
