import { type KeyObject, verify } from 'node:crypto';
import type { Agent } from '../identity/agents/agent.ts';
import { parsePublicKey } from '../identity/auth/public-keys.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { toCanonicalJson } from '../kernel/json/fingerprint.ts';
import type { SignedContent } from '../model/command.ts';

/** How far a signed message may be from now, so that nobody can send it again later. */
const SIGNATURE_WINDOW_MS = 60_000;
/** What an agent that signs brings in is refused, or only logged, where its signature is not right. */
export const verifySignature = (deps: Deps, agent: Agent, signed: SignedContent | undefined): void => {
  const { signing = 'off', id } = agent;
  if (signing === 'off') return;
  const fault = checkSignature(agent, signed, deps.clock.now());
  if (fault === undefined) return;
  if (signing === 'enforce') throw new ParleyError('bad_signature', `The message is not signed by ${id}: ${fault}.`);
  deps.log('warn', 'signature invalid (not enforced)', { agent: id, fault });
};

const checkSignature = (
  { publicKey = '' }: Agent,
  said: SignedContent | undefined,
  now: number,
): string | undefined => {
  if (!said) return 'it carries no signature. Where its dialect has no place for one, sign the call: Parley-Signature';
  const { signature, ...signed } = said.message;
  if (typeof signature !== 'string') return 'it has no signature';
  const key = parsePublicKey(publicKey);
  if (!key || !isSignatureValid(key, toCanonicalJson(signed), Buffer.from(signature, 'base64')))
    return 'its signature does not fit';
  const isNear = Math.abs(now - said.at) <= SIGNATURE_WINDOW_MS;
  return isNear ? undefined : `its timestamp is missing, or more than ${SIGNATURE_WINDOW_MS / 1000} s from now`;
};

const isSignatureValid = (key: KeyObject, text: string, signature: Uint8Array): boolean => {
  const algorithm = key.asymmetricKeyType?.startsWith('ed') ? null : 'sha256';
  return verify(algorithm, Buffer.from(text), key, signature);
};
