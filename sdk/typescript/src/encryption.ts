import { Fail } from './errors.ts';
import type { Json, JsonObject } from './json.ts';

/** Two agents that share keys: what they say to each other stands in `{"encrypted": …}`, which Parley carries as it is. */
export interface Encryption {
  /** What may be read by this agent alone. `GET /v1/agents/{id}` shows its `encryptionKey`. */
  encrypt(content: Json, to: string): Json | Promise<Json>;
  decrypt(encrypted: Json, from: string): Json | Promise<Json>;
}

export const isSealed = (content: Json): content is JsonObject & { encrypted: Json } =>
  typeof content === 'object' &&
  content !== null &&
  !Array.isArray(content) &&
  Object.keys(content).length === 1 &&
  Object.hasOwn(content, 'encrypted');

export const sealFor = async (
  encryption: Encryption | undefined,
  content: Json,
  to: string | undefined,
): Promise<JsonObject> => {
  if (!encryption) throw new TypeError('To encrypt, pass `encryption` to connect().');
  if (to === undefined) throw new TypeError('What is encrypted is for one agent: name it in `to`.');
  return { encrypted: await encryption.encrypt(content, to) };
};

/** What is not encrypted, or cannot be read here, comes as it is. */
export const unseal = async (encryption: Encryption | undefined, content: Json, from: string): Promise<Json> => {
  if (!encryption || !isSealed(content)) return content;
  try {
    return await encryption.decrypt(content.encrypted, from);
  } catch (error) {
    throw new Fail('decryption_failed', `What ${from} encrypted cannot be read: ${String(error)}`);
  }
};
