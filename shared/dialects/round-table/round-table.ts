import { toUuid } from '../../ids.ts';
import { validate } from '../../json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { decode } from './decode.ts';
import { ROUND_TABLE } from './name.ts';
import { roundTableNatsBinding } from './nats-binding.ts';
import { hasRoundTableType, ROUND_TABLE_TYPES, RoundTableMessage, UntypedRoundTableMessage } from './schema.ts';

/** The message contract of the Round Table: tasks, claims, progress, results, failures and heartbeats. */
export const roundTableDialect: Dialect = {
  name: ROUND_TABLE,
  isLogged: false,
  schema: RoundTableMessage,
  keys: Object.keys(UntypedRoundTableMessage.shape),
  types: ROUND_TABLE_TYPES,
  complaints: (message) => validate(hasRoundTableType(message) ? RoundTableMessage : UntypedRoundTableMessage, message),
  recognises: (message) => typeof message.from === 'string' && message.version !== undefined,
  names: ({ id, correlationId }) => [id, correlationId],
  decode,
  spoken: toUuid,
  onNats: roundTableNatsBinding,
};
