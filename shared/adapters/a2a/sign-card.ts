import { createPrivateKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import type { Deps } from '../../identity/deps.ts';
import { toCanonicalJson } from '../../kernel/json/fingerprint.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { RecentMap } from '../../kernel/recent-map.ts';
import { CARD_KEY, type CardKey } from '../../model/card-key.ts';
import type { Records } from '../../ports/records.ts';

interface SigningKey {
  kid: string;
  key: KeyObject;
  publicKey: { kty: 'EC'; crv: 'P-256'; x: string; y: string };
}

export const CARD_KEYS_PATH = '/a2a/jwks.json';

/** A signature takes 60 µs, and cards are asked for again and again. */
const MAX_SIGNATURES = 500;

/** The key never changes. */
const known = new WeakMap<Records, Promise<SigningKey>>();
const signatures = new WeakMap<SigningKey, RecentMap<string, string>>();

/** As A2A has it: a JWS over the canonical form of the card, which has no empty fields. */
export const signCard = async (deps: Deps, address: string, card: JsonObject): Promise<JsonObject> => {
  const signing = await loadSigningKey(deps);
  const header = { alg: 'ES256', typ: 'JOSE', kid: signing.kid, jku: address + CARD_KEYS_PATH };
  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const protectedHeader = encode(JSON.stringify(header));
  const input = `${protectedHeader}.${encode(toCanonicalJson(card))}`;
  const cached = signatures.get(signing) ?? new RecentMap<string, string>(MAX_SIGNATURES);
  signatures.set(signing, cached);
  const cacheKey = hash('sha256', input, 'base64url');
  const signature = cached.get(cacheKey) ?? signInput(signing.key, input);
  cached.set(cacheKey, signature);
  return { ...card, signatures: [{ protected: protectedHeader, signature }] };
};

/** JWS has both numbers of the signature side by side. */
const signInput = (key: KeyObject, input: string): string =>
  sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');

/** What verifies the signatures, as a JSON Web Key Set. */
export const buildCardKeySet = async (deps: Deps): Promise<JsonObject> => {
  const { kid, publicKey } = await loadSigningKey(deps);
  return { keys: [{ ...publicKey, kid, alg: 'ES256', use: 'sig' }] };
};

const loadSigningKey = (deps: Pick<Deps, 'records' | 'newId'>): Promise<SigningKey> => {
  const found = known.get(deps.records) ?? loadOrCreateKey(deps);
  known.set(deps.records, found);
  found.catch(() => known.delete(deps.records));
  return found;
};

/** Of several that begin at once, the first one's key is kept. */
const loadOrCreateKey = async ({ records, newId }: Pick<Deps, 'records' | 'newId'>): Promise<SigningKey> => {
  const found = await records.get(CARD_KEY);
  if (found) return toSigningKey(found);
  const created = await records.create<CardKey>({ ...CARD_KEY, ...generateKey() }, newId());
  const kept = created.outcome === 'written' ? created.after : created.existing;
  if (!kept) throw new Error('the key of the agent cards is gone');
  return toSigningKey(kept);
};

const generateKey = (): Pick<CardKey, 'privateKey' | 'x' | 'y' | 'sk'> => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  return { sk: 'card-key', privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), x, y };
};

const toSigningKey = ({ privateKey, x, y }: CardKey): SigningKey => {
  const publicKey = { kty: 'EC', crv: 'P-256', x, y } as const;
  // RFC 7638.
  return { kid: hash('sha256', toCanonicalJson(publicKey), 'base64url'), key: createPrivateKey(privateKey), publicKey };
};
