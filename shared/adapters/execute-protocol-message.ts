import { COMMON_GROUND } from '../dialects/common-ground/name.ts';
import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import type { Trace } from '../kernel/trace.ts';
import type { CommandResult, ProtocolMessage } from '../model/command.ts';

type ExecuteMessage = (deps: Deps, caller: Caller, trace: Trace, message: ProtocolMessage) => Promise<CommandResult>;

/** Loaded on demand: agents of the other dialects have no turns, and do without all that belongs to them. */
const ADAPTERS: Readonly<Record<string, () => Promise<{ executeMessage: ExecuteMessage }>>> = {
  [COMMON_GROUND]: () => import('./common-ground/handle-command.ts'),
};

/** Carries out a message that means something in its own protocol alone. */
export const executeProtocolMessage: ExecuteMessage = async (deps, caller, trace, message) => {
  const load = ADAPTERS[message.dialect];
  if (!load) throw new Error(`The dialect ${message.dialect} has no adapter.`);
  const { executeMessage } = await load();
  return executeMessage(deps, caller, trace, message);
};
