import type { JsonObject } from '../kernel/json/json.ts';
import type { InternalApi } from './api.ts';

export interface ShownCapability {
  name: string;
  description?: string;
  input?: JsonObject;
  output?: JsonObject;
  providers: string[];
}

/** A project with more agents than this has an endpoint per agent. */
const MAX_PAGES = 10;

/** Of all agents, or of one; by name. */
export const listCapabilities = async (api: InternalApi, agent: string | undefined): Promise<ShownCapability[]> => {
  const found = new Map<string, ShownCapability>();
  for (const one of await loadAgents(api, agent)) {
    const schemas = (one.schemas ?? {}) as Record<string, { input?: JsonObject; output?: JsonObject }>;
    for (const name of (one.capabilities ?? []) as string[]) {
      const known = found.get(name);
      const { input, output } = Object.hasOwn(schemas, name) ? (schemas[name] ?? {}) : {};
      found.set(name, {
        name,
        ...(input && { input }),
        ...(output && { output }),
        ...known,
        providers: [...(known?.providers ?? []), String(one.id)],
      });
    }
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
};

const loadAgents = async (api: InternalApi, agent: string | undefined): Promise<JsonObject[]> => {
  if (agent !== undefined) return [await api.call('GET', `/v1/agents/${encodeURIComponent(agent)}`)];
  const agents: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await api.call('GET', '/v1/agents', { query: { limit: 100, cursor } });
    agents.push(...(found.agents as JsonObject[]));
    cursor = found.cursor as string | undefined;
    if (cursor === undefined) break;
  }
  return agents;
};
