import { setImmediate as endTurn } from 'node:timers/promises';
import { listDomains } from '../config/project-settings.ts';
import {
  type Agent,
  buildDomainWildcard,
  listExactCapabilities,
  listUnscopedCapabilities,
  listWholeDomains,
} from '../identity/agents/agent.ts';
import { getActivePause } from '../identity/agents/agent-control.ts';
import { listLiveInstances } from '../identity/agents/agent-instances.ts';
import type { Caller } from '../identity/auth/authenticate.ts';
import { findAgent } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { findQueuePause, getPausedQueues, type QueuePause } from '../identity/queue-pauses.ts';
import { mapConcurrent } from '../kernel/concurrency.ts';
import { isObject, type Json } from '../kernel/json/json.ts';
import type { LimitReason } from '../model/limit.ts';
import {
  formatInstanceQueueName,
  holderKey,
  isAssigned,
  isTask,
  type Task,
  taskRef,
  toQueueKey,
} from '../model/task.ts';
import { getDomain, PRIORITIES, type Priority, type QueueInspection, type QueueKey } from '../ports/queues.ts';
import type { Item } from '../ports/records.ts';
import { listBlockedTasks } from '../tasks/limits/limit-states.ts';
import { type FirstAgents, listFirstAgents } from './list-first-agents.ts';
import { type RecentTraffic, readRecentTraffic } from './read-recent-traffic.ts';

/** Up to here a count is exact. */
const MAX_EXACT = 1000;
/** Tasks that one call reads to tell which messages are stale, and as many to tell what is in flight. */
const MAX_TASKS_READ = 10_000;
const TASK_PAGE = 100;
const QUEUES_AT_ONCE = 4;
const AGENTS_AT_ONCE = 10;

export interface BoundedCount {
  value: number;
  isExact: boolean;
}

export interface QueueLimit {
  key: string;
  reason: LimitReason;
  waiting: number;
}

export interface QueueName {
  kind: 'domain' | 'capability' | 'agent';
  name: string;
}

export interface QueueState extends QueueName {
  pause: QueuePause | undefined;
  waiting: BoundedCount;
  /** Epoch milliseconds. */
  oldestWaitingSince: number | undefined;
  inFlight: BoundedCount;
  waitingClaims: number | undefined;
  /** Why tasks wait that could be claimed otherwise, and how many of those that were looked at. */
  limits: QueueLimit[];
  /** Undefined on more queues than are counted. */
  recent: RecentTraffic | undefined;
  priorities: PriorityState[];
}

interface PriorityState {
  priority: Priority;
  waiting: BoundedCount;
  oldestWaitingSince: number | undefined;
}

interface QueueFilter {
  domain?: string | undefined;
  agent?: string | undefined;
  capability?: string | undefined;
  limit: number;
  /** Of those that wait, and as many of those in flight. Beyond, counts are estimates. */
  maxTasksRead?: number;
  /** The id of the last queue before. */
  after?: string | undefined;
}

interface QueueStatePage {
  queues: QueueState[];
  hasMore: boolean;
  /** False if there are more agents than one call looks at. */
  isComplete: boolean;
}

export const formatQueueId = ({ kind, name }: QueueName): string => `${kind}:${name}`;

/** Domains, then capabilities, then agents, each by name. An agent gets the queues that it can claim from. */
export const listQueueStates = async (deps: Deps, caller: Caller, filter: QueueFilter): Promise<QueueStatePage> => {
  const { agents, isComplete } = await listRelevantAgents(deps, caller, filter);
  const names = listQueueNames(deps, caller, agents).filter((queue) => isWanted(queue, filter));
  const { after } = filter;
  const rest = after === undefined ? names : names.filter((queue) => compareIds(formatQueueId(queue), after) > 0);
  const page = rest.slice(0, filter.limit);
  const [blocked, held, getRecent] = await Promise.all([
    countBlocked(deps, caller.project),
    countHeldTasks(deps, caller.project, agents, filter.maxTasksRead ?? MAX_TASKS_READ),
    readRecentTraffic(deps, caller.project),
  ]);
  const budget = { tasks: filter.maxTasksRead ?? MAX_TASKS_READ };
  const queues = await mapConcurrent(page, QUEUES_AT_ONCE, async (queue): Promise<QueueState> => {
    const inFlight = { value: held.byQueue.get(formatQueueId(queue)) ?? 0, isExact: held.isExact && isComplete };
    // A deep queue takes milliseconds: others have their turn in between.
    await endTurn();
    const recent = getRecent(formatQueueId(queue));
    const limits = blocked.get(formatQueueId(queue)) ?? [];
    return { ...(await readQueueState(deps, caller.project, queue, budget)), inFlight, limits, recent };
  });
  return { queues, hasMore: rest.length > page.length, isComplete };
};

/** With their kinds in order: domains, capabilities, agents. */
const KINDS = ['domain', 'capability', 'agent'] as const;

const compareIds = (a: string, b: string): number => {
  const [left, right] = [parseRank(a), parseRank(b)];
  return left - right || (a < b ? -1 : Number(a > b));
};

const parseRank = (id: string): number => KINDS.findIndex((kind) => id.startsWith(`${kind}:`));

const listRelevantAgents = async (
  deps: Deps,
  caller: Caller,
  { agent, domain, capability }: QueueFilter,
): Promise<FirstAgents> => {
  if (caller.role === 'agent') return { agents: [caller.registered.agent], isComplete: true };
  // Nobody but the agent itself holds what waits in its queue.
  if (agent !== undefined && domain === undefined && capability === undefined) {
    const known = await findAgent(deps, caller.project, agent);
    return { agents: known ? [known.agent] : [], isComplete: true };
  }
  return listFirstAgents(deps, caller.project);
};

const listQueueNames = (deps: Deps, caller: Caller, agents: Agent[]): QueueName[] => {
  const configured = listDomains(deps.config, caller.project);
  const served = new Set(agents.flatMap(listWholeDomains));
  const domains = caller.role === 'admin' ? configured : configured.filter((domain) => served.has(domain));
  const capabilities = new Set(
    agents.flatMap((agent) => [...listExactCapabilities(agent), ...listUnscopedCapabilities(agent.capabilities)]),
  );
  return [
    ...domains.toSorted().map((name): QueueName => ({ kind: 'domain', name })),
    ...[...capabilities].toSorted().map((name): QueueName => ({ kind: 'capability', name })),
    ...agents
      .map(({ id }) => id)
      .toSorted()
      .map((name): QueueName => ({ kind: 'agent', name })),
  ];
};

export const getQueueDomain = ({ kind, name }: QueueName): string | undefined => {
  if (kind === 'domain') return name;
  return kind === 'capability' ? getDomain(name) : undefined;
};

const isWanted = (queue: QueueName, { domain, agent, capability }: QueueFilter): boolean =>
  (domain === undefined || getQueueDomain(queue) === domain) &&
  (agent === undefined || (queue.kind === 'agent' && queue.name === agent)) &&
  (capability === undefined || (queue.kind === 'capability' && queue.name === capability));

/** Where a task waits, or waited before it was claimed. What an agent declined waits beside the queue of its domain. */
export const toQueueName = ({ kind, name }: Omit<QueueKey, 'priority'>): QueueName | undefined => {
  if (kind === 'relay') return undefined;
  if (kind === 'agent') return { kind, name: name.split('/', 1)[0] ?? name };
  const domain = kind === 'capability' ? getDomain(name) : undefined;
  return domain !== undefined && name === buildDomainWildcard(domain)
    ? { kind: 'domain', name: domain }
    : { kind, name };
};

const countHeldTasks = async (
  { records }: Deps,
  project: string,
  agents: Agent[],
  maxTasksRead: number,
): Promise<{ byQueue: Map<string, number>; isExact: boolean }> => {
  const byQueue = new Map<string, number>();
  let left = maxTasksRead;
  let isExact = true;
  await mapConcurrent(agents, AGENTS_AT_ONCE, async ({ id }) => {
    let after: string | undefined;
    for (let read = 0; read < MAX_EXACT; read += TASK_PAGE) {
      if (left <= 0) break;
      const page: Item[] = await records.query({
        index: 'byHolder',
        pk: holderKey(project, id),
        after,
        limit: TASK_PAGE,
      });
      left -= page.length;
      for (const item of page) countHeld(byQueue, item);
      if (page.length < TASK_PAGE) return;
      after = page.at(-1)?.byHolder?.sk;
      await endTurn();
    }
    isExact = false;
  });
  return { byQueue, isExact };
};

const countHeld = (byQueue: Map<string, number>, item: Item): void => {
  const queue = isTask(item) && isAssigned(item) ? toQueueName(toQueueKey(item)) : undefined;
  if (!queue) return;
  const id = formatQueueId(queue);
  byQueue.set(id, (byQueue.get(id) ?? 0) + 1);
};

const countBlocked = async (deps: Deps, project: string): Promise<Map<string, QueueLimit[]>> => {
  const byQueue = new Map<string, QueueLimit[]>();
  for (const { task, block } of await listBlockedTasks(deps, project)) {
    const queue = toQueueName(toQueueKey(task));
    if (!queue) continue;
    const id = formatQueueId(queue);
    const limits = byQueue.get(id) ?? [];
    byQueue.set(id, limits);
    const known = limits.find(({ key, reason }) => key === block.key && reason === block.reason);
    if (known) known.waiting += 1;
    else limits.push({ key: block.key, reason: block.reason, waiting: 1 });
  }
  return byQueue;
};

type WaitingState = Omit<QueueState, 'inFlight' | 'recent' | 'limits'>;

const readQueueState = async (
  deps: Deps,
  project: string,
  queue: QueueName,
  budget: { tasks: number },
): Promise<WaitingState> => {
  const { names, pause } = await listStoredNames(deps, project, queue);
  const keys = PRIORITIES.flatMap((priority) => names.map((name): QueueKey => ({ project, ...name, priority })));
  const inspected = await deps.queues.inspect(keys, MAX_EXACT);
  const priorities: PriorityState[] = [];
  for (const [at, priority] of PRIORITIES.entries()) {
    const own = inspected.slice(at * names.length, (at + 1) * names.length);
    priorities.push({ priority, ...(await countWaiting(deps, project, queue, own, budget)) });
  }
  return {
    ...queue,
    pause,
    waiting: {
      value: priorities.reduce((sum, { waiting }) => sum + waiting.value, 0),
      isExact: priorities.every(({ waiting }) => waiting.isExact),
    },
    oldestWaitingSince: findOldest(priorities.map(({ oldestWaitingSince }) => oldestWaitingSince)),
    waitingClaims: countReceivers(inspected),
    priorities,
  };
};

/** The queues of the engine that are one to whoever looks at them. */
const listStoredNames = async (
  deps: Deps,
  project: string,
  queue: QueueName,
): Promise<{ names: QueueName[]; pause: QueuePause | undefined }> => {
  const { kind, name } = queue;
  const pause = findQueuePause(await getPausedQueues(deps, project), queue);
  if (kind === 'capability') return { names: [queue], pause };
  if (kind === 'domain') return { names: [queue, { kind: 'capability', name: buildDomainWildcard(name) }], pause };
  const known = await findAgent(deps, project, name);
  const instances = known ? await listLiveInstances(deps, known.agent) : [];
  return {
    names: [queue, ...instances.map((instance) => ({ kind, name: formatInstanceQueueName(name, instance.id) }))],
    pause: known && getActivePause(known, deps.clock.now()),
  };
};

/** Whoever waits for a queue waits for all its priorities. */
const countReceivers = (inspected: QueueInspection[]): number | undefined =>
  inspected.reduce<number | undefined>(
    (most, { receivers }) => (receivers === undefined ? most : Math.max(most ?? 0, receivers)),
    undefined,
  );

const findOldest = (times: (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};

/** Messages stay behind when their tasks end, and a requeued task has several: the tasks themselves are counted. */
const countWaiting = async (
  deps: Deps,
  project: string,
  queue: QueueName,
  inspected: QueueInspection[],
  budget: { tasks: number },
): Promise<Omit<PriorityState, 'priority'>> => {
  const messages = inspected.reduce((sum, one) => sum + one.messages, 0);
  const shown = inspected.flatMap(({ oldest = [] }) => oldest);
  const isShownWhole = inspected.every(
    ({ isExact, messages: held, oldest }) => isExact && held === (oldest?.length ?? 0),
  );
  const isExact = isShownWhole && messages <= MAX_EXACT && shown.length <= budget.tasks;
  const looked = isExact ? shown : shown.slice(0, TASK_PAGE);
  budget.tasks -= looked.length;
  const waiting = await findWaitingTasks(deps, project, queue, looked);
  const oldestWaitingSince = findOldest(waiting.map(({ queuedAt }) => queuedAt));
  return { waiting: { value: isExact ? waiting.length : messages, isExact }, oldestWaitingSince };
};

const findWaitingTasks = async (
  { records, clock }: Deps,
  project: string,
  queue: QueueName,
  messages: { body: Json }[],
): Promise<Task[]> => {
  const generations = new Map<string, Set<unknown>>();
  for (const { body } of messages) {
    if (!isObject(body) || typeof body.taskId !== 'string') continue;
    const known = generations.get(body.taskId) ?? new Set();
    generations.set(body.taskId, known.add(body.queueGeneration));
  }
  const ids = [...generations.keys()];
  const found: Task[] = [];
  for (let at = 0; at < ids.length; at += TASK_PAGE) {
    const refs = ids.slice(at, at + TASK_PAGE).map((id) => taskRef(project, id));
    for (const task of await records.getMany(refs)) {
      const isQueued = task.status === 'requested' && task.deadline > clock.now();
      const name = toQueueName(toQueueKey(task));
      const isHere = name !== undefined && formatQueueId(name) === formatQueueId(queue);
      if (isQueued && isHere && generations.get(task.id)?.has(task.queueGeneration)) found.push(task);
    }
    await endTurn();
  }
  return found;
};
