import type { Agent } from '../agents/agent.ts';
import type { Caller } from '../agents/authenticate.ts';
import { hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import { CHUNKS_PRIORITY } from '../lane-names.ts';
import { relayedAsIs } from '../relay/relayed.ts';
import { turnRef } from '../turns/turn.ts';
import type { Chunk } from './chunk.ts';

/**
 * Sends a chunk that came over HTTP on to NATS, where whoever works on its turn or has asked for it is there. One that cannot be sent is
 * lost, like any that nobody hears.
 */
export const tellChunk = async (
  deps: Deps,
  caller: Caller,
  agent: Agent,
  { subject, chunk }: { subject: string; chunk: Chunk },
): Promise<void> => {
  const { project } = agent;
  const isFromNats = caller.role === 'agent' && caller.byRelay;
  if (isFromNats || !hasRelay(deps.config, project)) return;
  const { agent_turn_id: turn } = chunk;
  try {
    if (agent.via !== 'nats' && !(await isAskedForOnNats(deps, agent, turn))) return;
    const address = { project, priority: CHUNKS_PRIORITY, group: `turn/${turn}`, at: deps.clock.now() };
    await deps.queues.send([
      relayedAsIs(address, { subject, payload: { ...chunk }, id: `chunk/${deps.newId()}`, core: true }),
    ]);
  } catch (error) {
    deps.log('warn', 'a chunk could not be sent to NATS', { turn, error: String(error) });
  }
};

const isAskedForOnNats = async (deps: Deps, agent: Agent, turn: string): Promise<boolean> => {
  const requester = await requesterOf(deps, agent, turn);
  const known = requester === undefined ? undefined : await deps.directory.agent(agent.project, requester);
  return known?.agent.via === 'nats';
};

/** Who asked for a turn never changes, and its chunks are many: one read for all of them. */
const requesters = new Map<string, string>();
const MOST_REMEMBERED = 1000;

const requesterOf = async (deps: Deps, { project, id }: Agent, turnId: string): Promise<string | undefined> => {
  const name = `${project}/${id}/${turnId}`;
  const remembered = requesters.get(name);
  if (remembered !== undefined) return remembered;
  const turn = await deps.records.get(turnRef(project, turnId));
  if (turn?.agent !== id) return undefined;
  const [oldest] = requesters.keys();
  if (oldest !== undefined && requesters.size >= MOST_REMEMBERED) requesters.delete(oldest);
  requesters.set(name, turn.from);
  return turn.from;
};
