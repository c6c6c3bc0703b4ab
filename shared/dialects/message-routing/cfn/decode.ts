import { hash } from 'node:crypto';
import type { Config } from '../../../config/config.ts';
import { expandShortId, SHORT_ID } from '../../../kernel/ids.ts';
import { computeFingerprint } from '../../../kernel/json/fingerprint.ts';
import { assertMaxSize, type JsonObject, toJsonObject } from '../../../kernel/json/json.ts';
import { parseOrThrow } from '../../../kernel/json/parse-or-throw.ts';
import type { Command } from '../../../model/command.ts';
import { toIso } from '../../../ports/clock.ts';
import { assertSameMajorVersion } from '../../codec-helpers.ts';
import { MESSAGE_ROUTING, MESSAGE_ROUTING_VERSION, toCommand, toNote } from '../decode.ts';
import { withProtocolError } from '../protocol-error.ts';
import { NoteMessage, pickMessageSchema } from '../schema.ts';
import { CFN, CfnMessage } from './schema.ts';

/** What fits the document is what the document says; anything else is delivered as a message of its type. */
export const decode = (wire: JsonObject, config: Config): Command =>
  withProtocolError(wire, () => {
    assertMaxSize('The message', wire, config.dialects[MESSAGE_ROUTING].messageBytes);
    assertSameMajorVersion(wire.version, MESSAGE_ROUTING_VERSION);
    const said = parseOrThrow(CfnMessage, wire, 'invalid_message', 'The message');
    const message = toDocument(said);
    const parsed = pickMessageSchema(message).safeParse(message);
    const command = parsed.success
      ? toCommand(parsed.data, config)
      : toNote(NoteMessage.parse(message), `${CFN}.${said.type}`, config);
    return withOwnIdentity(said, command);
  });

/** Eight digits of any other id are made from the whole of it, so that an answer can be matched by it. */
export const toShortMsgId = (id: string): string =>
  SHORT_ID.test(id) ? id : `msg_${hash('sha256', `${CFN}/${id}`, 'hex').slice(0, 8)}`;

const toDocument = ({ msg_id, correlation_id, from, to, timestamp, version, ...rest }: CfnMessage): JsonObject =>
  toJsonObject({
    ...rest,
    version: version.split('.').length < 3 ? `${version}.0` : version,
    msg_id: toShortMsgId(msg_id),
    correlation_id: correlation_id == null ? undefined : toShortMsgId(correlation_id),
    from: from.toLowerCase(),
    to: to.toLowerCase(),
    timestamp: typeof timestamp === 'number' ? toIso(timestamp * 1000) : timestamp,
    requires_ack: rest.requires_ack ?? undefined,
    priority: rest.priority ?? undefined,
  });

/** One of 1000 ids a second is not enough for a sender: its count to the recipient tells its messages apart. */
const withOwnIdentity = (said: CfnMessage, command: Command): Command => {
  const { msg_id, version, from, to, timestamp, correlation_id, sequence } = said;
  const sender = `${command.from}>${to.toLowerCase()}#${sequence}`;
  const messageId = expandShortId(sender, toShortMsgId(msg_id), command.sequenceInfo?.at ?? 0);
  const own = { messageId, givenId: msg_id, fingerprint: computeFingerprint(said) };
  const written = { [CFN]: toJsonObject({ version, msg_id, from, to, timestamp, correlation_id }) };
  const rename = <T extends Command>(one: T): T => ({
    ...one,
    ...own,
    ...('taskId' in one && one.taskId === one.messageId && { taskId: messageId }),
    ...('extensions' in one && { extensions: { ...one.extensions, ...written } }),
    ...('progress' in one &&
      one.progress !== undefined && {
        progress: { ...one.progress, extensions: { ...one.progress.extensions, ...written } },
      }),
    ...('reply' in one &&
      one.reply !== undefined && { reply: { ...one.reply, extensions: { ...one.reply.extensions, ...written } } }),
  });
  const renamed = rename(command);
  if (renamed.kind === 'heartbeat' && renamed.message) return { ...renamed, message: rename(renamed.message) };
  return 'fallback' in renamed && renamed.fallback ? { ...renamed, fallback: rename(renamed.fallback) } : renamed;
};
