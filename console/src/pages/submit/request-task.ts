import { call, get } from '../../api/call.ts';
import type { Agent } from '../../api/types.ts';
import { getOwnAgent } from '../../state/session.ts';

interface Request {
  capability: string;
  input: unknown;
  priority?: string;
  to?: string;
  /** The requester, where an administrator asks. */
  from?: string;
  conversation?: string;
}

/** In whose name an administrator asks: an agent of its own, made when it is needed. */
export const CONSOLE_AGENT = 'console-operator';

/** Requests a task and gives its id. */
export const requestTask = async ({ from = CONSOLE_AGENT, ...request }: Request): Promise<string> => {
  const isOperator = getOwnAgent() === undefined;
  if (isOperator && from === CONSOLE_AGENT) await ensureConsoleAgent();
  const id = createId();
  const message = { kind: 'request', id, ...request, ...(isOperator && { from }) };
  await call('POST', 'v1/messages', { body: message, headers: { 'parley-dialect': 'native' } });
  return id;
};

/** Whoever has registered it otherwise keeps it so. */
export const ensureConsoleAgent = async (): Promise<void> => {
  // A list has no answer that a browser takes for a failure.
  const { agents } = await get<{ agents: Agent[] }>('v1/agents', { cursor: CONSOLE_AGENT.slice(0, -1), limit: 10 });
  if (agents.some(({ id }) => id === CONSOLE_AGENT)) return;
  await call('PUT', `v1/agents/${CONSOLE_AGENT}`, { body: { dialect: 'native' } });
};

/** `crypto.randomUUID` is there only over TLS and on this machine. */
const createId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
};
