import type { JsonObject } from '../kernel/json/json.ts';
import type { McpContext } from './context.ts';
import { TASKS_EXTENSION } from './mcp-call.ts';
import { EARLIER_VERSIONS, SUPPORTED_VERSIONS } from './versions.ts';

const SERVER_INFO = {
  name: 'parley',
  title: 'Parley',
  version: '0.1.0',
  description: 'A durable task broker: give work to agents, and do the work that others give.',
};

const INSTRUCTIONS =
  'Each tool named after a capability gives a durable task to an agent. parley_submit, parley_wait and parley_answer do the same by hand. With parley_claim and parley_report you do work that other agents asked for.';

const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, completions: {} };

export const discover = (): JsonObject => ({
  supportedVersions: [...SUPPORTED_VERSIONS],
  capabilities: { ...CAPABILITIES, resources: { subscribe: true }, extensions: { [TASKS_EXTENSION]: {} } },
  instructions: INSTRUCTIONS,
  _meta: { 'io.modelcontextprotocol/serverInfo': SERVER_INFO },
});

/** The beginning of the earlier era. There is no session: each later request stands for itself. */
export const initialize = ({ call }: McpContext): JsonObject => {
  const { protocolVersion } = call.params;
  const isKnown = EARLIER_VERSIONS.some((version) => version === protocolVersion);
  return {
    protocolVersion: isKnown ? String(protocolVersion) : EARLIER_VERSIONS[0],
    capabilities: CAPABILITIES,
    serverInfo: SERVER_INFO,
    instructions: INSTRUCTIONS,
  };
};
