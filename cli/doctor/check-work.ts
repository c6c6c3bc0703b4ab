import { type Parley, ParleyError } from '../../sdk/typescript/src/index.ts';
import { formatAge } from '../output.ts';
import { bad, type Check, ok, warn } from './check.ts';

interface Count {
  value: number;
  isExact: boolean;
}

interface Queue {
  id: string;
  paused: boolean;
  waiting: Count;
  oldestWaitingSince?: string;
  waitingClaims?: number;
  recent?: { claims: number };
}

interface Agent {
  id: string;
  paused?: object;
  health?: { online?: boolean; status?: string };
  activity?: { held?: Count };
}

const LATE_MS = 60_000;
const SHOWN = 5;

/** What somebody has to look at: work that nobody does, what was forgotten, what fails. */
export const checkWork = async (parley: Parley): Promise<Check[]> => {
  const checks = await Promise.all([
    checkQueues(parley),
    checkAgents(parley),
    checkQuestions(parley),
    checkDeadLetters(parley),
    checkWebhooks(parley),
  ]);
  return checks.flat();
};

/** What the key may not see is not looked at. */
const getIfAllowed = async <T>(parley: Parley, path: string, query = {}): Promise<T | undefined> => {
  try {
    return await parley.call<T>('GET', path, { query });
  } catch (error) {
    if (error instanceof ParleyError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
};

const name = (found: readonly { id: string }[]): string =>
  `${found
    .slice(0, SHOWN)
    .map(({ id }) => id)
    .join(', ')}${found.length > SHOWN ? ` and ${found.length - SHOWN} more` : ''}`;

const checkQueues = async (parley: Parley): Promise<Check[]> => {
  const page = await getIfAllowed<{ queues: Queue[] }>(parley, '/v1/queues', { limit: 100 });
  if (!page) return [];
  const late = page.queues.filter(
    ({ paused, waitingClaims, recent, oldestWaitingSince }) =>
      !paused &&
      oldestWaitingSince !== undefined &&
      Date.now() - Date.parse(oldestWaitingSince) > LATE_MS &&
      !waitingClaims &&
      !recent?.claims,
  );
  // An agent that is paused is told of as such.
  const paused = page.queues.filter(({ id, paused: isPaused }) => isPaused && !id.startsWith('agent:'));
  const checks = late.slice(0, SHOWN).map(({ id, waiting, oldestWaitingSince }) => {
    const about = id.slice(id.indexOf(':') + 1);
    const says = `${waiting.value}${waiting.isExact ? '' : '+'} wait in ${id} for ${formatAge(oldestWaitingSince)}, and nobody claims them`;
    return bad(
      'queue',
      says,
      id.startsWith('agent:') ? `start ${about}` : `start an agent: parley work ${about} --exec …`,
    );
  });
  if (paused.length > 0)
    checks.push(warn('queue', `paused: ${name(paused)}`, `parley queues resume ${paused[0]?.id}, once they may go on`));
  return checks.length > 0 ? checks : [ok('queues', 'nothing waits for long')];
};

const checkAgents = async (parley: Parley): Promise<Check[]> => {
  const page = await getIfAllowed<{ agents: Agent[] }>(parley, '/v1/agents', { limit: 100 });
  if (!page) return [];
  const { agents } = page;
  const away = agents.filter(({ health }) => health?.online === false);
  const ill = agents.filter(({ health }) => health?.online && /unhealthy|degraded|error/.test(health.status ?? ''));
  const paused = agents.filter((agent) => agent.paused);
  const checks: Check[] = [];
  if (away.length > 0)
    checks.push(warn('agents', `silent: ${name(away)}`, 'start them, or parley agents remove those that are gone'));
  if (ill.length > 0) checks.push(warn('agents', `not well, they say: ${name(ill)}`, 'look at their logs'));
  if (paused.length > 0)
    checks.push(warn('agents', `paused: ${name(paused)}`, `parley agents resume ${paused[0]?.id}, once it may go on`));
  return checks.length > 0 ? checks : [ok('agents', `${agents.length}, none silent or paused`)];
};

const countTasks = async (parley: Parley, status: string): Promise<Count | undefined> =>
  (await getIfAllowed<{ count?: Count }>(parley, '/v1/tasks', { status, count: true, limit: 1 }))?.count;

const checkQuestions = async (parley: Parley): Promise<Check[]> => {
  const count = await countTasks(parley, 'input_required');
  if (!count) return [];
  return count.value === 0
    ? [ok('questions', 'none waits for an answer')]
    : [warn('questions', `waiting for an answer: ${count.value}`, 'parley tasks list --status input_required')];
};

const checkDeadLetters = async (parley: Parley): Promise<Check[]> => {
  const count = await countTasks(parley, 'failed,expired');
  if (!count) return [];
  return count.value === 0
    ? [ok('failures', 'no dead letters')]
    : [warn('failures', `dead letters: ${count.value}${count.isExact ? '' : ' or more'}`, 'parley dead-letters list')];
};

const checkWebhooks = async (parley: Parley): Promise<Check[]> => {
  const page = await getIfAllowed<{ webhooks: { id: string; disabled?: { reason: string } }[] }>(
    parley,
    '/v1/webhooks',
  );
  const off = page?.webhooks.filter(({ disabled }) => disabled && disabled.reason !== 'operator') ?? [];
  return off.map(({ id, disabled }) =>
    bad('webhook', `${id} is off: ${disabled?.reason}`, `mend its receiver, then parley webhooks put ${id} URL`),
  );
};
