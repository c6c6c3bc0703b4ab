import type { Deps } from '../deps.ts';
import type { Agent } from './agent.ts';
import { listProviderIds } from './capability-offers.ts';

/** Page size, and enough to choose from. */
const PROVIDER_PAGE = 25;
/** Providers beyond these are not found. */
const MAX_SCANNED = 500;

export interface CapabilityProviders {
  agents: Agent[];
  isExhaustive: boolean;
}

export const findProviders = async (
  { records, directory }: Deps,
  project: string,
  capability: string,
  wantedOf: (page: Agent[]) => Agent[] | Promise<Agent[]>,
): Promise<CapabilityProviders> => {
  const agents: Agent[] = [];
  let lookedAt = 0;
  for (let after: string | undefined; ; ) {
    const ids: string[] = await listProviderIds(records, project, capability, PROVIDER_PAGE, after);
    const known = await Promise.all(ids.map((id) => directory.getAgent(project, id)));
    const page = known.flatMap((one) => one?.agent ?? []);
    agents.push(...(await wantedOf(page)));
    lookedAt += page.length;
    if (ids.length < PROVIDER_PAGE) return { agents, isExhaustive: agents.length === lookedAt };
    if (agents.length >= PROVIDER_PAGE || lookedAt >= MAX_SCANNED) return { agents, isExhaustive: false };
    after = ids.at(-1);
  }
};
