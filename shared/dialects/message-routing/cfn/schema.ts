import * as z from 'zod';
import { CLIENT_ID, CLIENT_ID_RULE } from '../../../kernel/ids.ts';
import { jsonValue } from '../../../kernel/json/parse-or-throw.ts';
import { MAX_SEQUENCE } from '../../../model/command.ts';

export const CFN = 'cfn';

const agentId = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 of a-z, A-Z, 0-9, _ and -');
const messageId = z.string().regex(CLIENT_ID, CLIENT_ID_RULE);

/** 9999-12-31T23:59:59Z */
const MAX_SECONDS = 253_402_300_799;

/** A message as the `message-bus.sh` of claude-flow-novice writes it, of any type. */
export const CfnMessage = z.looseObject({
  version: z.string().regex(/^\d{1,4}\.\d{1,4}(\.\d{1,4})?$/, 'must be a version such as 1.1'),
  msg_id: messageId,
  from: agentId,
  to: agentId,
  timestamp: z.union(
    [z.number().int().min(0).max(MAX_SECONDS), z.iso.datetime({ offset: true })],
    'must be seconds since 1970, or an ISO 8601 date and time with a time zone',
  ),
  sequence: z.number().int().min(1).max(MAX_SEQUENCE),
  type: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[!-~]+$/, 'must be printable, without spaces'),
  payload: jsonValue,
  requires_ack: z.boolean().nullish(),
  correlation_id: messageId.nullish(),
  priority: z.number().int().min(0).max(10).nullish(),
});
export type CfnMessage = z.output<typeof CfnMessage>;
