import { CLIENT_ID, isUuid } from '../../../kernel/ids.ts';
import { validate } from '../../../kernel/json/parse-or-throw.ts';
import type { DialectProfile } from '../../dialect.ts';
import { decode, toShortMsgId } from './decode.ts';
import { CfnMessage } from './schema.ts';

/** The message bus of claude-flow-novice, which writes the messages of the document in its own way. */
export const cfnProfile: DialectProfile = {
  schema: CfnMessage,
  unsignedFields: ['auth_version'],
  validate: (message) => validate(CfnMessage, message),
  getSender: ({ from }) => (typeof from === 'string' ? from.toLowerCase() : undefined),
  toShortId: (id) => (isUuid(id) || !CLIENT_ID.test(id) ? undefined : toShortMsgId(id)),
  decode,
};
