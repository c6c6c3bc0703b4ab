import { createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import type { Agent, RegisteredAgent } from '../identity/agents/agent.ts';
import { type Caller, type RelayCaller, resolveActor } from '../identity/auth/authenticate.ts';
import { parsePublicKey } from '../identity/auth/public-keys.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { toCanonicalJson } from '../kernel/json/fingerprint.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { SignedContent } from '../model/command.ts';
import { lessThan, notExists, or } from '../ports/conditions.ts';

interface AuthorizationRequest {
  caller: Caller | RelayCaller;
  /** The named sender; absent if it is the agent whose key it is. */
  from?: string;
  /** For the rate limit. */
  messageCount: number;
  /** `never` for streamed messages, which have no field for a signature. */
  signature: SignedContent | 'never' | undefined;
}

/**
 * The one ingress check of everything that agents send: the sender, its signature, its rate limit. A rejection has written
 * nothing. The size of content is checked where content is decoded.
 */
export const authorizeSender = (
  deps: Deps,
  ingress: AuthorizationRequest,
): RegisteredAgent | Promise<RegisteredAgent> => {
  const sender = resolveActor(deps, ingress.caller, ingress.from);
  return sender instanceof Promise
    ? sender.then((known) => verifyAndCount(deps, known, ingress))
    : verifyAndCount(deps, sender, ingress);
};

const verifyAndCount = (
  deps: Deps,
  sender: RegisteredAgent,
  { messageCount, signature }: AuthorizationRequest,
): RegisteredAgent | Promise<RegisteredAgent> => {
  if (signature !== 'never') verifySignature(deps, sender, signature);
  const counted = consumeRateLimit(deps, sender.agent, messageCount);
  return counted ? counted.then(() => sender) : sender;
};

/** Bounds how long a captured message can be replayed. */
const SIGNATURE_WINDOW_MS = 60_000;
/** Throws or only logs, by the registration. */
const verifySignature = (deps: Deps, sender: RegisteredAgent, signed: SignedContent | undefined): void => {
  const { signing = 'off', id } = sender.agent;
  if (signing === 'off') return;
  const fault = checkSignature(sender, signed, deps.clock.now());
  if (fault === undefined) return;
  if (signing === 'enforce') throw new ParleyError('bad_signature', `The message is not signed by ${id}: ${fault}.`);
  deps.log('warn', 'signature invalid (not enforced)', { agent: id, fault });
};

const checkSignature = (
  sender: RegisteredAgent,
  content: SignedContent | undefined,
  now: number,
): string | undefined => {
  if (!content)
    return 'it carries no signature. Where its dialect has no place for one, sign the call: Parley-Signature';
  const { signature, ...signed } = content.message;
  if (typeof signature !== 'string') return 'it has no signature';
  if (!isSignedBy(sender, toCanonicalJson(signed), signature)) return 'its signature does not fit';
  const isNear = Math.abs(now - content.at) <= SIGNATURE_WINDOW_MS;
  return isNear ? undefined : `its timestamp is missing, or more than ${SIGNATURE_WINDOW_MS / 1000} s from now`;
};

const isSignedBy = ({ agent: { publicKey = '' }, hmacSecret }: RegisteredAgent, text: string, signature: string) => {
  if (publicKey === '' && hmacSecret !== undefined) return isHmacValid(hmacSecret, text, signature);
  const key = parsePublicKey(publicKey);
  return key !== undefined && isSignatureValid(key, text, Buffer.from(signature, 'base64'));
};

const SHA256_HEX = /^[0-9a-f]{64}$/i;

const isHmacValid = (secret: string, text: string, signature: string): boolean => {
  const said = Buffer.from(signature, SHA256_HEX.test(signature) ? 'hex' : 'base64');
  const computed = createHmac('sha256', secret).update(text).digest();
  return said.length === computed.length && timingSafeEqual(said, computed);
};

const isSignatureValid = (key: KeyObject, text: string, signature: Uint8Array): boolean => {
  const algorithm = key.asymmetricKeyType?.startsWith('ed') ? null : 'sha256';
  return verify(algorithm, Buffer.from(text), key, signature);
};

export const SIGNATURE_HEADERS = {
  'Parley-Signature':
    'base64 of the signature over `{"call": "<method> <path>", "timestamp", "body"}` as canonical JSON. `broadcast` and `dialect` are added if the call has the headers `Parley-Broadcast` and `Parley-Dialect`',
  'Parley-Timestamp': 'the time of the signature, ISO 8601, within 60 s of now',
};

interface SignedCallParts {
  method: string;
  /** Of the route, with its decoded parameters, because servers decode paths differently. */
  path: string;
  params: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string | undefined>>;
  body: unknown;
}

/**
 * The signature covers the call, its body, and headers that change its meaning, so it is valid for no other call.
 * Undefined without a signature.
 */
export const buildSignedCall = ({
  method,
  path,
  params,
  headers,
  body,
}: SignedCallParts): SignedContent | undefined => {
  const { 'parley-signature': signature, 'parley-timestamp': timestamp = '' } = headers;
  if (signature === undefined) return undefined;
  const call = `${method} ${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')}`;
  const { 'parley-broadcast': broadcast, 'parley-dialect': dialect } = headers;
  const message: JsonObject = {
    call,
    timestamp,
    broadcast,
    dialect,
    body: isJsonBody(body) ? body : undefined,
    signature,
  };
  return { message, at: Date.parse(timestamp) };
};

/** Bodies are parsed from JSON. */
const isJsonBody = (body: unknown): body is JsonObject => body !== undefined;

const MINUTE_MS = 60_000;

/** Per minute. Several messages are counted as a whole or rejected. */
export const consumeRateLimit = (deps: Deps, agent: Agent, messages: number): Promise<void> | undefined => {
  const most = agent.limits?.messagesPerMinute;
  return typeof most === 'number' && messages > 0 ? consumeUpTo(deps, agent, messages, most) : undefined;
};

const consumeUpTo = async (deps: Deps, { project, id }: Agent, messages: number, most: number): Promise<void> => {
  if (messages > most) throw batchExceedsRateError(id, messages, most);
  const now = deps.clock.now();
  const minute = Math.floor(now / MINUTE_MS);
  const ref = { pk: `${project}#rate#${id}`, sk: `minute#${minute}` };
  const isRoom = or(notExists('count'), lessThan('count', most - messages + 1));
  const change = { if: isRoom, add: { count: messages }, set: { expires: (minute + 2) * MINUTE_MS } };
  const written = await deps.records.update(ref, change, deps.newId(), 'orCreate');
  if (written.outcome === 'written') return;
  const retryAfterSeconds = Math.ceil(((minute + 1) * MINUTE_MS - now) / 1000);
  throw new ParleyError(
    'rate_limited',
    `${id} may send ${most} messages a minute, and ${messages === 1 ? 'has' : `has no ${messages} left`}. Try again in ${retryAfterSeconds} s.`,
    { details: { limit: most, retryAfterSeconds }, retryable: true },
  );
};

const batchExceedsRateError = (id: string, messages: number, most: number): ParleyError =>
  new ParleyError(
    'rate_limited',
    `These are ${messages} messages at once, and ${id} may send ${most} a minute. Send fewer at a time.`,
    { details: { limit: most, messages }, retryable: false },
  );
