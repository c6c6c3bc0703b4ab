import { asUuid } from '../../ids.ts';
import { complaints } from '../../json/checked.ts';
import type { Dialect } from '../dialect.ts';
import { decode } from './decode.ts';
import { NAME } from './name.ts';
import { onNats } from './on-nats.ts';
import { isTyped, RoundTableMessage, TYPES, UntypedMessage } from './schema.ts';

/** The message contract of the Round Table: tasks, claims, progress, results, failures and heartbeats. */
export const roundTable: Dialect = {
  name: NAME,
  isLogged: false,
  schema: RoundTableMessage,
  keys: Object.keys(UntypedMessage.shape),
  types: TYPES,
  complaints: (message) => complaints(isTyped(message) ? RoundTableMessage : UntypedMessage, message),
  recognises: (message) => typeof message.from === 'string' && message.version !== undefined,
  names: ({ id, correlationId }) => [id, correlationId],
  decode,
  spoken: asUuid,
  onNats,
};
