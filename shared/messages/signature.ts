import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Agent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { canonical } from '../json/fingerprint.ts';
import type { JsonObject } from '../json/json.ts';

/** How far a signed message may be from now, so that nobody can send it again later. */
const WINDOW_MS = 60_000;

/** The key in PEM, or in base64 as DER; undefined where it is neither. */
export const publicKeyIn = (text: string): KeyObject | undefined => {
  try {
    const isPem = text.startsWith('-----BEGIN');
    return isPem
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
};

/** A message of an agent that signs is refused, or only logged, where its signature is not right. */
export const checkSignature = (deps: Deps, agent: Agent, message: JsonObject, sentAt: number | undefined): void => {
  const { signing = 'off', id } = agent;
  if (signing === 'off') return;
  const fault = faultIn(agent, message, sentAt, deps.clock.now());
  if (fault === undefined) return;
  if (signing === 'enforce') throw new ParleyError('bad_signature', `The message is not signed by ${id}: ${fault}.`);
  deps.log('warn', 'a message is not signed as it should be', { agent: id, fault });
};

const faultIn = (
  { publicKey = '' }: Agent,
  message: JsonObject,
  sentAt: number | undefined,
  now: number,
): string | undefined => {
  if (sentAt === undefined) return 'messages of its dialect carry no signature';
  const { signature, ...signed } = message;
  if (typeof signature !== 'string') return 'it has no signature';
  const key = publicKeyIn(publicKey);
  if (!key || !fits(key, canonical(signed), Buffer.from(signature, 'base64'))) return 'its signature does not fit';
  const isNear = Math.abs(now - sentAt) <= WINDOW_MS;
  return isNear ? undefined : `its timestamp is missing, or more than ${WINDOW_MS / 1000} s from now`;
};

const fits = (key: KeyObject, text: string, signature: Uint8Array): boolean => {
  const algorithm = key.asymmetricKeyType?.startsWith('ed') ? null : 'sha256';
  return verify(algorithm, Buffer.from(text), key, signature);
};
