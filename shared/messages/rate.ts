import type { Agent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { absent, any, below } from '../ports/conditions.ts';

const MINUTE_MS = 60_000;

/** Counts the messages of an agent that has a limit, a minute at a time, and refuses those beyond it. */
export const countRate = (deps: Deps, agent: Agent): Promise<void> | undefined => {
  const most = agent.limits?.messagesPerMinute;
  return typeof most === 'number' ? countUpTo(deps, agent, most) : undefined;
};

const countUpTo = async (deps: Deps, { project, id }: Agent, most: number): Promise<void> => {
  const now = deps.clock.now();
  const minute = Math.floor(now / MINUTE_MS);
  const ref = { pk: `${project}#rate#${id}`, sk: `minute#${minute}` };
  const isRoom = any(absent('count'), below('count', most));
  const change = { if: isRoom, add: { count: 1 }, set: { expires: (minute + 2) * MINUTE_MS } };
  const written = await deps.records.update(ref, change, deps.newId(), 'orCreate');
  if (written.outcome === 'written') return;
  const retryAfterSeconds = Math.ceil(((minute + 1) * MINUTE_MS - now) / 1000);
  throw new ParleyError(
    'rate_limited',
    `${id} may send ${most} messages a minute, and has. Try again in ${retryAfterSeconds} s.`,
    { facts: { limit: most, retryAfterSeconds }, retry: 'later' },
  );
};
