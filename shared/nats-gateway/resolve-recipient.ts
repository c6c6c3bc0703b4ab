import { getAgentDialect } from '../dialects/registry.ts';
import type { Agent } from '../identity/agents/agent.ts';
import type { Deps } from '../identity/deps.ts';
import { uuidFromSeed } from '../kernel/ids.ts';
import type { Task } from '../model/task.ts';
import { listNatsProviders } from '../tasks/commands/nats-providers.ts';

/**
 * Whoever the task is for; of those who have its capability one after the other, each time that it is sent. It is for all of them
 * even so: whoever claims it has it. `heard` where it stands on the reader's subject already, said by its sender or sent before:
 * a tool service runs a command as often as it hears it.
 */
export const resolveRecipient = async (
  deps: Deps,
  task: Task,
  resent: number,
): Promise<Agent | 'heard' | undefined> => {
  const { id, queueGeneration, extensions } = task;
  const readers = await listRecipients(deps, task);
  const first = Number.parseInt(uuidFromSeed(['provider', id]).slice(0, 8), 16) + queueGeneration;
  const readerAt = (sending: number): Agent | undefined => readers[(first + sending) % readers.length];
  const standing = (agent: Agent | undefined) =>
    agent && getAgentDialect(agent).natsBinding?.getPublishedState?.(extensions);
  if (queueGeneration === 1 && readers.some((agent) => standing(agent)?.isHeard)) return 'heard';
  const reader = readerAt(resent);
  const earlier = Array.from({ length: Math.min(resent, readers.length) }, (_, sending) => readerAt(sending));
  return standing(reader) && earlier.some(standing) ? 'heard' : reader;
};

const listRecipients = async (deps: Deps, task: Task): Promise<Agent[]> => {
  const { project, to, routingCapability } = task;
  if (to === undefined) return routingCapability === undefined ? [] : listNatsProviders(deps, task);
  const registered = await deps.directory.getAgent(project, to);
  return registered ? [registered.agent] : [];
};
