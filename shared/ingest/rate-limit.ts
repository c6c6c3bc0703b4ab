import type { Agent } from '../identity/agents/agent.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { lessThan, notExists, or } from '../ports/conditions.ts';

const MINUTE_MS = 60_000;

/** Counts the messages of an agent that has a limit, a minute at a time, and refuses those beyond it: several at once all or none. */
export const consumeRateLimit = (deps: Deps, agent: Agent, messages: number): Promise<void> | undefined => {
  const most = agent.limits?.messagesPerMinute;
  return typeof most === 'number' && messages > 0 ? consumeUpTo(deps, agent, messages, most) : undefined;
};

const consumeUpTo = async (deps: Deps, { project, id }: Agent, messages: number, most: number): Promise<void> => {
  if (messages > most) throw batchExceedsRateError(id, messages, most);
  const now = deps.clock.now();
  const minute = Math.floor(now / MINUTE_MS);
  const ref = { pk: `${project}#rate#${id}`, sk: `minute#${minute}` };
  const isRoom = or(notExists('count'), lessThan('count', most - messages + 1));
  const change = { if: isRoom, add: { count: messages }, set: { expires: (minute + 2) * MINUTE_MS } };
  const written = await deps.records.update(ref, change, deps.newId(), 'orCreate');
  if (written.outcome === 'written') return;
  const retryAfterSeconds = Math.ceil(((minute + 1) * MINUTE_MS - now) / 1000);
  throw new ParleyError(
    'rate_limited',
    `${id} may send ${most} messages a minute, and ${messages === 1 ? 'has' : `has no ${messages} left`}. Try again in ${retryAfterSeconds} s.`,
    { details: { limit: most, retryAfterSeconds }, retryable: true },
  );
};

const batchExceedsRateError = (id: string, messages: number, most: number): ParleyError =>
  new ParleyError(
    'rate_limited',
    `These are ${messages} messages at once, and ${id} may send ${most} a minute. Send fewer at a time.`,
    { details: { limit: most, messages }, retryable: false },
  );
