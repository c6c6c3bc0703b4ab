import type { JsonObject } from '../kernel/json/json.ts';
import type { InternalApi } from './api.ts';

export interface ShownCapability {
  name: string;
  /** Of the first provider that declares one. */
  input?: JsonObject;
  output?: JsonObject;
  providers: string[];
}

interface CapabilityFilter {
  capability?: string;
  /** The only agent whose capabilities count. */
  agent: string | undefined;
  cursor?: string | undefined;
  limit?: number;
}

interface CapabilityPage {
  capabilities: ShownCapability[];
  cursor?: string;
}

interface ListedCapability {
  name: string;
  providers: { agent: string; input?: JsonObject; output?: JsonObject }[];
}

/** A page by name. Whole domains are left out: they say nothing about what can be asked for. */
export const listCapabilities = async (api: InternalApi, filter: CapabilityFilter): Promise<CapabilityPage> => {
  const page = await api.call('GET', '/v1/capabilities', { query: { ...filter } });
  const listed = page.capabilities as unknown as ListedCapability[];
  return {
    capabilities: listed.filter(({ name }) => !name.endsWith('.*')).map(toShownCapability),
    ...(typeof page.cursor === 'string' && { cursor: page.cursor }),
  };
};

const toShownCapability = ({ name, providers }: ListedCapability): ShownCapability => {
  const input = providers.find((one) => one.input)?.input;
  const output = providers.find((one) => one.output)?.output;
  return { name, ...(input && { input }), ...(output && { output }), providers: providers.map(({ agent }) => agent) };
};
