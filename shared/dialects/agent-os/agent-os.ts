import { AGENT_ID } from '../../identity/agents/agent.ts';
import { toUuid } from '../../kernel/ids.ts';
import { isObject, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { validate } from '../../kernel/json/parse-or-throw.ts';
import { omitStamps } from '../codec-helpers.ts';
import type { Dialect } from '../dialect.ts';
import { AGENT_OS, decode } from './decode.ts';
import { parseManifest } from './manifest.ts';
import { AGENT_OS_TYPES, AgentOsMessage, hasAgentOsType, UntypedAgentOsMessage } from './schema.ts';
import { toAgentOsError } from './validation-rules.ts';

const describeInvalid = ({ to, evidence }: JsonObject) => {
  const { agentId } = toObjectOrEmpty(to);
  const { sources, confidence } = toObjectOrEmpty(evidence);
  return {
    to: typeof agentId === 'string' && AGENT_ID.test(agentId) ? agentId : undefined,
    evidenceCount: Array.isArray(sources) ? sources.length : 0,
    confidenceScore: typeof confidence === 'number' ? confidence : 0,
  };
};

/** The runtime messages of AgentOS: queries and commands with their answers, and messages that need none, all with evidence. */
export const agentOsDialect: Dialect = {
  name: AGENT_OS,
  inbox: 'progress',
  isAuditedByDefault: true,
  logsRejections: true,
  describeForAudit: describeInvalid,
  answersByReply: true,
  schema: AgentOsMessage,
  fieldNames: Object.keys(UntypedAgentOsMessage.shape),
  types: AGENT_OS_TYPES,
  validate: (message) => validate(hasAgentOsType(message) ? AgentOsMessage : UntypedAgentOsMessage, message),
  isRecognized: (message) => isObject(message.from),
  listCorrelationIds: ({ id, replyTo }) => [id, replyTo],
  decode,
  omitStamps,
  toAliasId: toUuid,
  toProtocolError: toAgentOsError,
  parseManifest,
  isManifest: ({ agents }) => Array.isArray(agents),
};
