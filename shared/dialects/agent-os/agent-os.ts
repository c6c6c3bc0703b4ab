import { asUuid } from '../../ids.ts';
import { complaints } from '../../json/checked.ts';
import { isObject } from '../../json/json.ts';
import type { Dialect } from '../dialect.ts';
import { decode, NAME } from './decode.ts';
import { readManifest } from './manifest.ts';
import { AgentOsMessage, isTyped, TYPES, UntypedMessage } from './schema.ts';
import { explained } from './validation-rules.ts';

/** The runtime messages of AgentOS: queries and commands with their answers, and messages that need none, all with evidence. */
export const agentOs: Dialect = {
  name: NAME,
  isLogged: true,
  schema: AgentOsMessage,
  keys: Object.keys(UntypedMessage.shape),
  types: TYPES,
  complaints: (message) => complaints(isTyped(message) ? AgentOsMessage : UntypedMessage, message),
  recognises: (message) => isObject(message.from),
  names: ({ id, replyTo }) => [id, replyTo],
  decode,
  spoken: asUuid,
  explained,
  readManifest,
};
