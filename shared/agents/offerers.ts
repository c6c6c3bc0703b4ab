import type { Deps } from '../deps.ts';
import type { Agent } from './agent.ts';
import { offeredBy } from './capabilities.ts';

/** So many are looked at together, and so many are enough to choose from. */
const PAGE = 25;
/** Whoever comes after these is not found. */
const MOST_LOOKED_AT = 500;

export interface Offerers {
  agents: Agent[];
  /** Nobody else has the capability. */
  areAll: boolean;
}

/** Some of those who have a capability and are wanted, page by page until there are enough. */
export const offerersOf = async (
  { records, directory }: Deps,
  project: string,
  capability: string,
  wantedOf: (page: Agent[]) => Agent[] | Promise<Agent[]>,
): Promise<Offerers> => {
  const agents: Agent[] = [];
  let lookedAt = 0;
  for (let after: string | undefined; ; ) {
    const ids: string[] = await offeredBy(records, project, capability, PAGE, after);
    const known = await Promise.all(ids.map((id) => directory.agent(project, id)));
    const page = known.flatMap((one) => one?.agent ?? []);
    agents.push(...(await wantedOf(page)));
    lookedAt += page.length;
    if (ids.length < PAGE) return { agents, areAll: agents.length === lookedAt };
    if (agents.length >= PAGE || lookedAt >= MOST_LOOKED_AT) return { agents, areAll: false };
    after = ids.at(-1);
  }
};
