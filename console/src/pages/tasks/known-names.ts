import { get } from '../../api/call.ts';
import type { Agent } from '../../api/types.ts';
import { useResource } from '../../state/resource.ts';

/** What a filter or a form can offer. */
export const useKnownNames = (): { agents: string[]; capabilities: string[] } => {
  const { data } = useResource('names', async (abort) => {
    const { agents } = await get<{ agents: Agent[] }>('v1/agents', { limit: 100 }, abort);
    const capabilities = [...new Set(agents.flatMap((agent) => agent.capabilities ?? []))].toSorted();
    return { agents: agents.map(({ id }) => id), capabilities };
  });
  return data.value ?? { agents: [], capabilities: [] };
};
