import { hasRelay } from '../../config/project-settings.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { turnRef } from '../../model/turn.ts';
import { buildPublishRelay } from '../../nats/relay-item.ts';
import { CHUNK_PRIORITY } from '../../ports/queue-names.ts';
import type { Chunk } from './chunk.ts';

/** Sends a chunk to NATS, if the agent or the requester of its turn is there. May be lost. */
export const relayChunk = async (
  deps: Deps,
  caller: Caller,
  agent: Agent,
  { subject, chunk }: { subject: string; chunk: Chunk },
): Promise<void> => {
  const { project } = agent;
  const isFromNats = caller.role === 'agent' && caller.viaRelay;
  if (isFromNats || !hasRelay(deps.config, project)) return;
  const { agent_turn_id: turn } = chunk;
  try {
    if (agent.transport !== 'nats' && !(await isRequestedFromNats(deps, agent, turn))) return;
    const address = { project, priority: CHUNK_PRIORITY, group: `turn/${turn}`, at: deps.clock.now() };
    await deps.queues.send([
      buildPublishRelay(address, { subject, payload: { ...chunk }, id: `chunk/${deps.newId()}`, core: true }),
    ]);
  } catch (error) {
    deps.log('warn', 'chunk relay failed', { turn, error: String(error) });
  }
};

const isRequestedFromNats = async (deps: Deps, agent: Agent, turn: string): Promise<boolean> => {
  const requester = await findRequester(deps, agent, turn);
  const known = requester === undefined ? undefined : await deps.directory.getAgent(agent.project, requester);
  return known?.agent.transport === 'nats';
};

/** The requester of a turn never changes, so one read serves all its chunks. */
const requesterCache = new Map<string, string>();
const MAX_CACHED_REQUESTERS = 1000;

const findRequester = async (deps: Deps, { project, id }: Agent, turnId: string): Promise<string | undefined> => {
  const name = `${project}/${id}/${turnId}`;
  const remembered = requesterCache.get(name);
  if (remembered !== undefined) return remembered;
  const turn = await deps.records.get(turnRef(project, turnId));
  if (turn?.agent !== id) return undefined;
  const [oldest] = requesterCache.keys();
  if (oldest !== undefined && requesterCache.size >= MAX_CACHED_REQUESTERS) requesterCache.delete(oldest);
  requesterCache.set(name, turn.from);
  return turn.from;
};
