import { toObjectOrEmpty } from '../../json/json.ts';
import { validate } from '../../json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { decode, MESSAGE_ROUTING } from './decode.ts';
import {
  hasMessageRoutingType,
  MAX_MESSAGE_BYTES,
  MESSAGE_ROUTING_TYPES,
  MessageRoutingMessage,
  UntypedMessageRoutingMessage,
} from './schema.ts';

/** The message routing protocol: status updates, delegated tasks, results, commands and heartbeats from inbox to inbox. */
export const messageRoutingDialect: Dialect = {
  name: MESSAGE_ROUTING,
  isLogged: false,
  logsRefusals: true,
  usesShortIds: true,
  isMeasured: true,
  contentBytes: MAX_MESSAGE_BYTES,
  messageBytes: MAX_MESSAGE_BYTES,
  inboxLimit: ({ dialects }) => dialects[MESSAGE_ROUTING].inboxLimit,
  schema: MessageRoutingMessage,
  keys: Object.keys(UntypedMessageRoutingMessage.shape),
  types: MESSAGE_ROUTING_TYPES,
  complaints: (message) =>
    validate(hasMessageRoutingType(message) ? MessageRoutingMessage : UntypedMessageRoutingMessage, message),
  recognises: (message) => message.msg_id !== undefined,
  names: ({ msg_id, correlation_id }) => [msg_id, correlation_id],
  awaits: ({ payload }) => {
    const { dependencies } = toObjectOrEmpty(toObjectOrEmpty(payload).context);
    return Array.isArray(dependencies) ? dependencies : [];
  },
  decode,
};
