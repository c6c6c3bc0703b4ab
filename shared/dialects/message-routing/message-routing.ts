import { complaints } from '../../json/checked.ts';
import { objectIn } from '../../json/json.ts';
import type { Dialect } from '../dialect.ts';
import { decode, NAME } from './decode.ts';
import { isTyped, MESSAGE_BYTES, MessageRoutingMessage, TYPES, UntypedMessage } from './schema.ts';

/** The message routing protocol: status updates, delegated tasks, results, commands and heartbeats from inbox to inbox. */
export const messageRouting: Dialect = {
  name: NAME,
  isLogged: false,
  logsRefusals: true,
  usesShortIds: true,
  isMeasured: true,
  contentBytes: MESSAGE_BYTES,
  inboxLimit: ({ dialects }) => dialects[NAME].inboxLimit,
  schema: MessageRoutingMessage,
  keys: Object.keys(UntypedMessage.shape),
  types: TYPES,
  complaints: (message) => complaints(isTyped(message) ? MessageRoutingMessage : UntypedMessage, message),
  recognises: (message) => message.msg_id !== undefined,
  names: ({ msg_id, correlation_id }) => [msg_id, correlation_id],
  awaits: ({ payload }) => {
    const { dependencies } = objectIn(objectIn(payload).context);
    return Array.isArray(dependencies) ? dependencies : [];
  },
  decode,
};
