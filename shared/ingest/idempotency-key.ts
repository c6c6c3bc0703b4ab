import { hash } from 'node:crypto';
import { type Caller, getCallerName, type RelayCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { computeFingerprint } from '../kernel/json/fingerprint.ts';
import { DAY_MS } from '../kernel/retention.ts';
import { assertSameRequest } from '../kernel/same-request.ts';
import { and, equals, notExists } from '../ports/conditions.ts';
import type { Item, Ref } from '../ports/records.ts';
import { IDEMPOTENCY_KEY_PATTERN } from './idempotency-header.ts';

/** A call under an Idempotency-Key, and what it was answered. Without a fingerprint it was rejected. */
export interface KeyedCall extends Item {
  sk: 'keyed-call';
  /** Of the ids that the call makes. */
  seed: string;
  fingerprint?: string;
  startedAt?: number;
  /** Absent while it is executed. */
  response?: string;
}

const IDEMPOTENCY_KEY = new RegExp(IDEMPOTENCY_KEY_PATTERN);

/** Calls have 30 s. One that began earlier has ended without an answer, and is executed again. */
const MAX_CALL_MS = 30_000;
/** An item of DynamoDB has 400 KB. */
const MAX_RESPONSE_CHARACTERS = 200_000;

interface CallIdentity {
  caller: Caller | RelayCaller;
  key: string;
  /** All that changes its meaning. */
  content: unknown[];
}

interface ResponseCodec<T> {
  /** Undefined for what is not kept. */
  encode(response: T): string | undefined;
  decode(text: string): T;
}

/**
 * Executes a call once under its key. A rejected call frees its key, so that it can be corrected. The ids that the call
 * makes follow from the key, so that a call that is executed again after a crash makes the same records.
 */
export const executeOnce = async <T>(
  deps: Deps,
  { caller, key, content }: CallIdentity,
  { encode, decode }: ResponseCodec<T>,
  execute: (makeId: () => string) => Promise<T>,
): Promise<T> => {
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new ParleyError('invalid_request', 'Idempotency-Key must have 1 to 255 visible ASCII characters.');
  }
  const owner = `${caller.role}/${getCallerName(caller)}`;
  const name = hash('sha256', key, 'base64url');
  const ref: Ref<KeyedCall> = { pk: `${caller.project}#keyed-call#${owner}#${name}`, sk: 'keyed-call' };
  const fingerprint = computeFingerprint(content);
  const startedAt = deps.clock.now();
  const reserved = await reserveKey(deps, ref, fingerprint, startedAt);
  if (reserved.response !== undefined) return decode(reserved.response);
  const isOwn = and(equals('startedAt', startedAt), notExists('response'));
  const free = () => deps.records.update(ref, { if: isOwn, unset: ['fingerprint', 'startedAt'] }, deps.newId());
  let made = 0;
  const makeId = (): string => hash('sha256', `${reserved.seed} ${made++}`, 'base64url').slice(0, 16);
  let response: T;
  try {
    response = await execute(makeId);
  } catch (error) {
    await free();
    throw error;
  }
  const text = encode(response);
  if (text === undefined || text.length > MAX_RESPONSE_CHARACTERS) await free();
  else await deps.records.update(ref, { if: isOwn, set: { response: text } }, deps.newId());
  return response;
};

/** With the response, if there is one. */
const reserveKey = async (
  deps: Deps,
  ref: Ref<KeyedCall>,
  fingerprint: string,
  startedAt: number,
): Promise<KeyedCall> => {
  const set = { fingerprint, startedAt, expires: startedAt + DAY_MS };
  const fresh = { if: notExists('seed'), set: { ...set, seed: deps.newId() } };
  const reserved = await deps.records.update(ref, fresh, deps.newId(), 'orCreate');
  if (reserved.outcome === 'written') return reserved.after;
  const { existing } = reserved;
  if (existing?.fingerprint !== undefined) assertSameRequest(existing, fingerprint, 'call with this Idempotency-Key');
  if (existing?.response !== undefined) return existing;
  const isFree = existing !== undefined && (existing.startedAt ?? 0) + MAX_CALL_MS <= startedAt;
  if (isFree) {
    const again = await deps.records.update(ref, { if: equals('v', existing.v), set }, deps.newId());
    if (again.outcome === 'written') return again.after;
  }
  throw new ParleyError('call_in_progress', 'The call with this Idempotency-Key is being executed. Repeat it later.');
};
