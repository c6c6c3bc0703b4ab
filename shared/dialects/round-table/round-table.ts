import { toUuid } from '../../kernel/ids.ts';
import { validate } from '../../kernel/json/parse-or-throw.ts';
import { omitStamps } from '../codec-helpers.ts';
import type { Dialect } from '../dialect.ts';
import { decode } from './decode.ts';
import { knightProfile } from './knight/knight.ts';
import { KNIGHT } from './knight/name.ts';
import { ROUND_TABLE } from './name.ts';
import { roundTableNatsBinding } from './nats-binding.ts';
import { hasRoundTableType, ROUND_TABLE_TYPES, RoundTableMessage, UntypedRoundTableMessage } from './schema.ts';

/** The message contract of the Round Table: tasks, claims, progress, results, failures and heartbeats. */
export const roundTableDialect: Dialect = {
  name: ROUND_TABLE,
  isAuditedByDefault: false,
  schema: RoundTableMessage,
  fieldNames: Object.keys(UntypedRoundTableMessage.shape),
  types: ROUND_TABLE_TYPES,
  validate: (message) => validate(hasRoundTableType(message) ? RoundTableMessage : UntypedRoundTableMessage, message),
  isRecognized: (message) => typeof message.from === 'string' && message.version !== undefined,
  listCorrelationIds: ({ id, correlationId }) => [id, correlationId],
  decode,
  omitStamps,
  toAliasId: toUuid,
  natsBinding: roundTableNatsBinding,
  profiles: { [KNIGHT]: knightProfile },
};
