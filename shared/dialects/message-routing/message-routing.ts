import { toObjectOrEmpty } from '../../kernel/json/json.ts';
import { validate } from '../../kernel/json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { cfnProfile } from './cfn/cfn.ts';
import { CFN } from './cfn/schema.ts';
import { decode, MESSAGE_ROUTING } from './decode.ts';
import {
  hasMessageRoutingType,
  MAX_TRANSLATED_BYTES,
  MESSAGE_ROUTING_TYPES,
  PublishedMessage,
  pickMessageSchema,
  UntypedMessageRoutingMessage,
} from './schema.ts';

/** The message routing protocol: status updates, delegated tasks, results, commands and heartbeats from inbox to inbox. */
export const messageRoutingDialect: Dialect = {
  name: MESSAGE_ROUTING,
  isAuditedByDefault: false,
  logsRejections: true,
  usesShortIds: true,
  answersByReply: true,
  inbox: 'all',
  // Twice the targets of its document.
  latencyAlerts: { writeMs: 100, readMs: 200 },
  maxContentBytes: MAX_TRANSLATED_BYTES,
  getMaxMessageBytes: ({ dialects }) => dialects[MESSAGE_ROUTING].messageBytes,
  getInboxLimit: ({ dialects }) => dialects[MESSAGE_ROUTING].inboxLimit,
  schema: PublishedMessage,
  fieldNames: Object.keys(UntypedMessageRoutingMessage.shape),
  types: MESSAGE_ROUTING_TYPES,
  validate: (message) =>
    validate(hasMessageRoutingType(message) ? pickMessageSchema(message) : UntypedMessageRoutingMessage, message),
  isRecognized: (message) => message.msg_id !== undefined,
  listCorrelationIds: ({ msg_id, correlation_id }) => [msg_id, correlation_id],
  listDependencyIds: ({ payload }) => {
    const { dependencies } = toObjectOrEmpty(toObjectOrEmpty(payload).context);
    return Array.isArray(dependencies) ? dependencies : [];
  },
  decode,
  profiles: { [CFN]: cfnProfile },
};
