import { type Agent, listWholeDomains, type SkillFields } from '../../identity/agents/agent.ts';
import { type Json, type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import { getDomain } from '../../ports/queues.ts';

export const PROTOCOL_VERSION = '1.0';
/** Not an agent id, so it is never one's address. */
export const GATEWAY = '@gateway';
/** What Parley has beside A2A: `metadata.parley`, and the schemas of capabilities in cards. */
export const PARLEY_EXTENSION = 'https://parley.dev/a2a/extensions/parley/v1';

export const formatAgentPath = (agent: string): string => `/a2a/${agent}`;
export const formatCardPath = (agent: string): string => `${formatAgentPath(agent)}/.well-known/agent-card.json`;

/** What every agent takes that does not say otherwise. */
const ANY_MODES = ['text/plain', 'application/json', 'application/octet-stream'];

export const buildAgentCard = (agent: Agent, address: string, isExtended: boolean): JsonObject => {
  const { id, dialect, agentCard = {}, schemas, versions } = agent;
  const { name = id, description, version, provider, documentationUrl, iconUrl } = agentCard;
  return {
    name,
    description: description ?? `The agent ${id}, which takes its tasks from Parley.`,
    version: version ?? versions?.[0] ?? '1.0.0',
    provider: provider && toJsonObject(provider),
    documentationUrl,
    iconUrl,
    ...buildCommonFields(address, id, isExtended && schemas ? { dialect, schemas: toSchemas(schemas) } : undefined),
    defaultInputModes: agentCard.inputModes ?? ANY_MODES,
    defaultOutputModes: agentCard.outputModes ?? ANY_MODES,
    skills: listSkills(agent),
  };
};

const toSchemas = (schemas: NonNullable<Agent['schemas']>): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([capability, sides]) => [capability, toJsonObject(sides)]));

const listSkills = (agent: Agent): JsonObject[] => {
  const { id, capabilities, agentCard } = agent;
  const names = [...new Set([...capabilities, ...listWholeDomains(agent).map((domain) => `${domain}.*`)])];
  // A card has at least one skill.
  if (names.length === 0) return [buildSkill('message', { description: `Messages to ${id}.` }, [id])];
  return names.map((name) => buildSkill(name, agentCard?.skills?.[name] ?? {}, [getDomain(name) ?? name]));
};

const buildSkill = (id: string, fields: SkillFields, tags: string[]): JsonObject => {
  const { name = id, description, examples, inputModes, outputModes } = fields;
  const said = fields.tags && fields.tags.length > 0 ? fields.tags : tags;
  return { id, name, description: description ?? `Tasks of ${id}.`, tags: said, examples, inputModes, outputModes };
};

/** The whole project as one agent. */
export const buildGatewayCard = (
  address: string,
  domains: Record<string, { description: string }>,
  /** With a key: those of its agents too. */
  capabilities: readonly string[] | undefined,
): JsonObject => ({
  name: 'Parley',
  description: 'A durable task broker: it hands each task to an agent that can do it, and keeps it until it is done.',
  version: '1.0.0',
  ...buildCommonFields(address, GATEWAY, undefined),
  defaultInputModes: ANY_MODES,
  defaultOutputModes: ANY_MODES,
  skills: [
    ...Object.entries(domains).map(([domain, { description }]) =>
      buildSkill(`${domain}.*`, { name: domain, description }, [domain]),
    ),
    ...(capabilities ?? []).map((name) => buildSkill(name, {}, [getDomain(name) ?? name])),
  ],
});

const buildCommonFields = (address: string, agent: string, params: JsonObject | undefined): JsonObject => ({
  supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
    url: `${address}${formatAgentPath(agent)}`,
    protocolBinding,
    protocolVersion: PROTOCOL_VERSION,
  })),
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extendedAgentCard: true,
    extensions: [
      {
        uri: PARLEY_EXTENSION,
        description: 'Priority, time to live, retries and more, in metadata.parley',
        params,
      },
    ],
  },
  securitySchemes: { key: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'the key of an agent' } } },
  // The scope of the key. A verifier of signatures may drop empty lists, or keep them.
  securityRequirements: [{ schemes: { key: { list: ['agent'] } } }],
});

export const buildCatalog = (address: string, agents: readonly Agent[]): { [key: string]: Json } => ({
  specVersion: '1.0',
  entries: [GATEWAY, ...agents.map(({ id }) => id)].map((id) => ({
    identifier: `urn:parley:agent:${id}`,
    displayName: agents.find((agent) => agent.id === id)?.agentCard?.name ?? (id === GATEWAY ? 'Parley' : id),
    mediaType: 'application/a2a-agent-card+json',
    url: `${address}${formatCardPath(id)}`,
  })),
});
