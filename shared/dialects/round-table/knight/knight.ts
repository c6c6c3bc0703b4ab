import { validate } from '../../../kernel/json/parse-or-throw.ts';
import type { DialectProfile } from '../../dialect.ts';
import { getSubjects } from '../streams.ts';
import { decode } from './decode.ts';
import { knightNatsBinding } from './nats-binding.ts';
import { KnightMessage } from './schema.ts';
import { toKnightTaskId } from './task-id.ts';
import { getKnightName, getKnightTaskId, isHeartbeat, isReport, isTextTask, toDocument } from './to-document.ts';

/** Knights as they run: knight-agent, pi-knight, nats-bridge, their scripts and their operator. */
export const knightProfile: DialectProfile = {
  schema: KnightMessage,
  validate: (message) => validate(KnightMessage, toDocument(message, undefined)),
  isRecognized: (message) =>
    (typeof message.from === 'string' && message.type !== undefined) ||
    [isHeartbeat, isReport, isTextTask].some((isIt) => isIt(message)),
  getSender: (message, site) =>
    getKnightName(message) ?? (isTextTask(message) ? getSubjects(site).requester : undefined),
  listCorrelationIds: (message) => [message.id, message.correlationId ?? getKnightTaskId(message)],
  decode,
  toAliasId: toKnightTaskId,
  natsBinding: knightNatsBinding,
};
