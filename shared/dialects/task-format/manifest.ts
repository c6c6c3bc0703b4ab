import * as z from 'zod';
import { AGENT_ID, type CapabilitySchemas } from '../../identity/agents/agent.ts';
import { boundedArray, boundedRecord } from '../../kernel/json/bounded-schemas.ts';
import { isJsonObject, isObject, type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import { jsonObject, parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import { MAX_MANIFEST_AGENTS, type ManifestAgent } from '../dialect.ts';

const agentId = z.string().regex(AGENT_ID, 'must be 1 to 64 of a-z, 0-9, _ and -');
const name = z.string().min(1).max(128);
const schemas = { inputSchema: jsonObject.optional(), outputSchema: jsonObject.optional() };

/** Skills have ids, and capabilities, as agents were described before, have names. */
const abilities = {
  skills: boundedArray(z.union([name, z.looseObject({ id: name, ...schemas })]), { max: 256 }).optional(),
  capabilities: boundedArray(z.union([name, z.looseObject({ name, ...schemas })]), { max: 256 }).optional(),
};
const Abilities = z.looseObject(abilities);

/** The `agent.json` of one agent. */
const AgentCard = z.looseObject({ name: agentId, ...abilities });

const AgentCards = z.looseObject({ agents: boundedArray(AgentCard, { min: 1, max: MAX_MANIFEST_AGENTS }) });

/** The `registry.json` of a system: its agents by name. */
const Registry = z.looseObject({
  orchestrator: agentId.nullish(),
  agents: boundedRecord(agentId, Abilities, { max: MAX_MANIFEST_AGENTS }),
  skillIndex: boundedRecord(name, z.string(), { max: 1000 }).default({}),
});

export const isTaskFormatManifest = ({ agents, name: called }: JsonObject): boolean =>
  agents === undefined ? typeof called === 'string' : isJsonObject(agents);

/** What agents can do is the `type` of the tasks that they are given. */
export const parseTaskFormatManifest = (file: JsonObject): ManifestAgent[] => {
  if (isJsonObject(file.agents)) return parseRegistry(file);
  if (file.agents === undefined) return [toManifestAgent(parse(AgentCard, file))];
  return parse(AgentCards, file).agents.map(toManifestAgent);
};

const parse = <T>(schema: z.ZodType<T>, file: JsonObject): T =>
  parseOrThrow(schema, file, 'invalid_request', 'The manifest');

const toManifestAgent = (card: z.output<typeof AgentCard>): ManifestAgent => ({
  id: card.name,
  ...listAbilities(card),
  manifest: toJsonObject(card),
});

const parseRegistry = (file: JsonObject): ManifestAgent[] => {
  const { agents, orchestrator, skillIndex } = parse(Registry, file);
  const listed = Object.entries(agents).map(([id, entry]): ManifestAgent => {
    const { capabilities, schemas: own } = listAbilities(entry);
    const indexed = Object.keys(skillIndex).filter((skill) => skillIndex[skill] === id);
    return {
      id,
      capabilities: [...new Set([...capabilities, ...indexed])],
      schemas: own,
      manifest: toJsonObject(entry),
    };
  });
  const isListed = !orchestrator || listed.some(({ id }) => id === orchestrator);
  return isListed ? listed : [...listed, { id: orchestrator, isMentioned: true }];
};

const listAbilities = ({ skills = [], capabilities = [] }: z.output<typeof Abilities>) => {
  const all = [
    ...skills.map((skill) => toAbility(skill, isObject(skill) ? skill.id : skill)),
    ...capabilities.map((capability) => toAbility(capability, isObject(capability) ? capability.name : capability)),
  ];
  const described = all.filter(({ input, output }) => input !== undefined || output !== undefined);
  return {
    capabilities: [...new Set(all.map(({ id }) => id))],
    schemas: Object.fromEntries(described.map(({ id, ...sides }): [string, CapabilitySchemas] => [id, sides])),
  };
};

const toAbility = (said: string | { inputSchema?: JsonObject; outputSchema?: JsonObject }, id: string) => {
  const { inputSchema, outputSchema } = isObject(said) ? said : {};
  return { id, input: inputSchema, output: outputSchema };
};
