import { toUuid } from '../../ids.ts';
import { isObject } from '../../json/json.ts';
import { validate } from '../../json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { AGENT_OS, decode } from './decode.ts';
import { parseManifest } from './manifest.ts';
import { AGENT_OS_TYPES, AgentOsMessage, hasAgentOsType, UntypedAgentOsMessage } from './schema.ts';
import { toAgentOsError } from './validation-rules.ts';

/** The runtime messages of AgentOS: queries and commands with their answers, and messages that need none, all with evidence. */
export const agentOsDialect: Dialect = {
  name: AGENT_OS,
  isLogged: true,
  schema: AgentOsMessage,
  keys: Object.keys(UntypedAgentOsMessage.shape),
  types: AGENT_OS_TYPES,
  complaints: (message) => validate(hasAgentOsType(message) ? AgentOsMessage : UntypedAgentOsMessage, message),
  recognises: (message) => isObject(message.from),
  names: ({ id, replyTo }) => [id, replyTo],
  decode,
  spoken: toUuid,
  explained: toAgentOsError,
  readManifest: parseManifest,
};
