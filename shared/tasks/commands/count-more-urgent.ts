import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { PRIORITIES, type Priority, type QueueCounts } from '../../ports/queues.ts';
import { getClaimableQueues, isExcludedFrom } from './claimable-queues.ts';

const MAX_COUNTED = 10;

/** Queued tasks that are more urgent than the current one; undefined for none. */
export const countMoreUrgent = async (
  deps: Deps,
  registered: RegisteredAgent,
  priority: Priority,
): Promise<QueueCounts | undefined> => {
  const higher = PRIORITIES.slice(0, PRIORITIES.indexOf(priority));
  const queueKeys = getClaimableQueues(registered, {}).filter((queueKey) => higher.includes(queueKey.priority));
  if (queueKeys.length === 0) return undefined;
  try {
    const counts = await deps.queues.count(queueKeys, {
      max: MAX_COUNTED,
      skip: (body) => isExcludedFrom(registered, body),
    });
    return Object.keys(counts).length > 0 ? counts : undefined;
  } catch (error) {
    // The report is stored in any case.
    deps.log('warn', 'count of queued tasks failed', { agent: registered.agent.id, error: String(error) });
    return undefined;
  }
};
