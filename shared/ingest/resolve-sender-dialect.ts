import type { Dialect } from '../dialects/dialect.ts';
import { getAgentDialect, PROFILED_DIALECTS, resolveDialect } from '../dialects/registry.ts';
import type { Agent } from '../identity/agents/agent.ts';
import { type Caller, findAgent, type RelayCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { ReceiveContext } from './ingest-message.ts';

export const resolveSenderDialect = async (
  deps: Deps,
  { caller, dialect, profile }: Pick<ReceiveContext, 'caller' | 'dialect' | 'profile'>,
  message: JsonObject,
): Promise<Dialect> => {
  if (dialect !== undefined && profile !== undefined) return getAgentDialect({ dialect, profile });
  if (caller.role === 'agent') return resolveDialect(message, dialect, caller.registered.agent);
  return resolveDialect(message, dialect, await findProfiledSender(deps, caller, message));
};

/** The profile of the sender, if an administrator or the relay sends for it. */
export const findProfiledSender = async (
  deps: Deps,
  { project }: Caller | RelayCaller,
  message: JsonObject,
): Promise<Agent | undefined> => {
  const site = { project, config: deps.config };
  for (const dialect of PROFILED_DIALECTS) {
    const sender = dialect.getSender ? dialect.getSender(message, site) : message.from;
    const known = typeof sender === 'string' ? await findAgent(deps, project, sender) : undefined;
    if (known?.agent.dialect === dialect.name && known.agent.profile === dialect.profile) return known.agent;
  }
  return undefined;
};
