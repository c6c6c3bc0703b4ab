import { type ParleyError, type ParleyErrorCode, STATUS_BY_CODE } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import type { NatsEnvelope, NatsMessage } from '../../nats/nats-message.ts';
import type { NatsBinding, RefusalContext } from '../nats-binding.ts';
import { buildSystemMessage } from './system-message.ts';

/** A message that is wrong in itself is only kept as a dead letter, unless somebody waits for an answer to it. */
export const buildRejectionNotice: NatsBinding['buildRejectionNotice'] = async (arrival, message, refusal, about) => {
  if (message.type === 'task.request') return buildRequestFailure(arrival, message, refusal, about);
  return isLost(refusal) ? buildLostNotice(arrival, message, refusal, about) : undefined;
};

const getPrefix = (subject: string): string => subject.slice(0, subject.indexOf('.'));

const isLost = ({ code }: ParleyError): boolean => STATUS_BY_CODE[code] === 409 || code === 'not_eligible';

/** Whoever lost a task learns it. */
const buildLostNotice = (
  { subject }: NatsEnvelope,
  { id, from, correlationId: taskId }: JsonObject,
  { code, message, details }: ParleyError,
  { now }: RefusalContext,
): NatsMessage | undefined => {
  if (typeof taskId !== 'string' || typeof from !== 'string') return undefined;
  const rejection = { id: uuidFromSeed(['rejected', String(id)]), type: 'task.claim-rejected', correlationId: taskId };
  const payload = { code, message, holder: details.holder };
  return {
    subject: `${getPrefix(subject)}.events.task.claim-rejected`,
    payload: buildSystemMessage({ ...rejection, to: from, payload }, now),
    id: rejection.id,
  };
};

/** Nobody who could be somebody else is answered, and no task that is there is told to have failed. */
const ANSWERED_STATUSES: readonly number[] = [400, 413, 422];
const SUBJECT_TOKEN = /^[\w-]{1,128}$/;

/** Whoever asked for a task that there will never be learns it as its failure. */
const buildRequestFailure = async (
  { subject }: NatsEnvelope,
  { id, from }: JsonObject,
  { code, message }: ParleyError,
  { now, hasTask }: RefusalContext,
): Promise<NatsMessage | undefined> => {
  const domain = subject.split('.')[2] ?? '';
  const isAddressable = typeof id === 'string' && SUBJECT_TOKEN.test(id) && typeof from === 'string';
  if (!isAddressable || !ANSWERED_STATUSES.includes(STATUS_BY_CODE[code]) || (await hasTask(id))) return undefined;
  const failure = { id: uuidFromSeed(['rejected', id]), type: 'task.failed', correlationId: id };
  const error = UNSERVED_CODES.has(code) ? 'skill_missing' : 'invalid_params';
  const payload = { error, message, retryable: false, parley: { code } };
  return {
    subject: `${getPrefix(subject)}.results.${domain}.${id}`,
    payload: buildSystemMessage({ ...failure, to: from, payload }, now),
    id: failure.id,
  };
};

const UNSERVED_CODES: ReadonlySet<ParleyErrorCode> = new Set([
  'unknown_domain',
  'unknown_agent',
  'capability_not_found',
]);
