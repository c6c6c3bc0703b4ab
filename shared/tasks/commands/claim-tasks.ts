import type { Dialect } from '../../dialects/dialect.ts';
import { getReaderDialect } from '../../dialects/registry.ts';
import { agentPk, type RegisteredAgent } from '../../identity/agents/agent.ts';
import { getActivePause } from '../../identity/agents/agent-control.ts';
import { recordInstanceActivity } from '../../identity/agents/agent-instances.ts';
import type { Deps } from '../../identity/deps.ts';
import { getLimitRules, hasInheritedRules } from '../../identity/limit-rules.ts';
import { findQueuePause, getPausedQueues, NO_PAUSED_QUEUES, type PausedQueues } from '../../identity/queue-pauses.ts';
import { isPermanent, ParleyError } from '../../kernel/errors.ts';
import { isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { fitIntoResponse } from '../../kernel/response-size.ts';
import { pickTraceFields } from '../../kernel/trace.ts';
import { holderKey, type Task, taskRef } from '../../model/task.ts';
import { sleep, toIso } from '../../ports/clock.ts';
import type { QueueKey, ReceivedMessage } from '../../ports/queues.ts';
import { toStepsView } from '../queries/get-step.ts';
import { buildClaimTransition } from '../transitions/holder-transitions.ts';
import { applyTo, toConditionalUpdate } from '../transitions/rules.ts';
import { applyReport, toActor } from './apply-report.ts';
import { findMisfit } from './capability-schemas.ts';
import { getClaimableQueues, isExcludedFrom, isOfPausedQueue } from './claimable-queues.ts';
import { encodeRequestFor, ensureAlias } from './encode-for-agent.ts';
import { releaseTasks } from './manage-task.ts';
import { updateTask } from './update-task.ts';

export interface ClaimOptions {
  max: number;
  waitMs: number;
  /** A subset of the served domains. */
  domains?: string[];
  /** A subset of the declared capabilities. */
  capabilities?: string[];
  /** The lease. */
  leaseMs?: number;
  instance?: string;
  signal?: AbortSignal;
  /** False if the key has ended during the wait. */
  canReceive?: () => Promise<boolean>;
  /** If it is not the agent's. */
  dialect?: string;
  /** Stored in the tasks, so that they are found again if the answer is lost. */
  claimId?: string;
  /** Runs before each claim, and returns the lease. */
  prepare?: (taskId: string) => Promise<{ leaseMs: number }>;
}

export interface ClaimedTask {
  message: JsonObject;
  attempt: number;
  lease: { until: string };
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  conversationId?: string;
  user?: string;
  graphId?: string;
  steps?: JsonObject;
}

/** Enough to claim what was received, with some retries. */
const VISIBILITY_MS = 30_000;

/** The limit for skipping stale messages. */
const DRAIN_MS = 5000;

/** A claim that leaves low priority to others, or waits beside a paused queue, checks this often whether that is over. */
const RECHECK_MS = 1000;

/** By priority. Within one priority, tasks addressed to the agent come first. */
export const claimTasks = async (deps: Deps, asking: RegisteredAgent, options: ClaimOptions): Promise<Task[]> => {
  const { max, waitMs, signal } = options;
  const until = deps.clock.now() + waitMs;
  const known = getActivePause(asking, deps.clock.now())
    ? await waitUntilUnpaused(deps, asking, until, signal)
    : asking;
  if (!known) return [];
  const begun = deps.clock.now();
  const all = getClaimableQueues(known, options);
  let queueKeys = all;
  if (options.instance !== undefined) await recordInstanceActivity(deps, known.agent, options.instance);
  for (;;) {
    const left = Math.max(0, until - deps.clock.now());
    const isBusy = queueKeys !== all;
    const paused = await getPausedQueues(deps, known.agent.project);
    const open = listOpenQueues(paused, queueKeys);
    const found = await deps.queues.receive(open, {
      max,
      waitMs: isBusy || paused !== NO_PAUSED_QUEUES ? Math.min(left, RECHECK_MS) : left,
      visibilityMs: VISIBILITY_MS,
      signal,
      skip: (body) => isExcludedFrom(known, body) || isOfPausedQueue(paused, body),
    });
    const received = found.length > 0 ? await releasePaused(deps, known, found) : found;
    if (received.length < found.length && received.length === 0 && left > 0 && !signal?.aborted) {
      await sleep(deps.clock, Math.min(left, RECHECK_MS), signal).done;
    }
    if (isBusy && received.length === 0 && (await hasNoAssignedTasks(deps, known))) queueKeys = all;
    if (received.length > 0 && ((await isGoneOrPaused(deps, known)) || signal?.aborted)) {
      await deps.queues.release(received);
      return [];
    }
    const taken = await findEligible(deps, known, received);
    if (taken.length < received.length) {
      await deps.queues.release(received.filter((message) => !taken.includes(message)));
      if (taken.length === 0) queueKeys = all.filter((queueKey) => !isLowPriority(queueKey));
    }
    const claimed = await claimReceivedMessages(deps, known, taken, options);
    if (claimed.length > 0 && options.canReceive && !(await options.canReceive())) {
      await releaseTasks(deps, known, claimed);
      return [];
    }
    // All received messages were stale: live ones may follow.
    const isStale = taken.length > 0 && claimed.length === 0;
    const deadline = isStale ? Math.max(until, begun + DRAIN_MS) : until;
    if (claimed.length > 0 || deps.clock.now() >= deadline || signal?.aborted) return claimed;
  }
};

/** Undefined if the pause lasts longer than the wait. */
const waitUntilUnpaused = async (
  deps: Deps,
  asking: RegisteredAgent,
  until: number,
  signal: AbortSignal | undefined,
): Promise<RegisteredAgent | undefined> => {
  const { project, id } = asking.agent;
  const watcher = deps.records.watch(agentPk(project, id));
  try {
    for (;;) {
      // The cache may be older than the control command.
      deps.directory.invalidate(project, id);
      const registered = await deps.directory.getAgent(project, id);
      const now = deps.clock.now();
      const pause = registered && getActivePause(registered, now);
      if (!pause) return registered;
      // It has nothing to wait for.
      if (pause.action === 'drain') return undefined;
      if (now >= until || signal?.aborted) return undefined;
      await watcher.next(Math.min(until, pause.until ?? until) - now, signal);
    }
  } finally {
    watcher.close();
  }
};

/** Paused or removed during the wait. */
const isGoneOrPaused = async (deps: Deps, { agent }: RegisteredAgent): Promise<boolean> => {
  const registered = await deps.directory.getAgent(agent.project, agent.id);
  return registered === undefined || getActivePause(registered, deps.clock.now()) !== undefined;
};

const listOpenQueues = (paused: PausedQueues, queueKeys: QueueKey[]): QueueKey[] =>
  paused === NO_PAUSED_QUEUES ? queueKeys : queueKeys.filter((queueKey) => !findQueuePause(paused, queueKey));

/** A queue may have been paused during the wait. */
const releasePaused = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  received: ReceivedMessage[],
): Promise<ReceivedMessage[]> => {
  const paused = await getPausedQueues(deps, agent.project);
  if (paused === NO_PAUSED_QUEUES) return received;
  const isPaused = ({ queueKey, body }: ReceivedMessage): boolean =>
    findQueuePause(paused, queueKey) !== undefined || isOfPausedQueue(paused, body);
  const left = received.filter(isPaused);
  if (left.length > 0) await deps.queues.release(left);
  return received.filter((message) => !left.includes(message));
};

const isLowPriority = (queueKey: QueueKey): boolean => queueKey.priority === 'low';

/** Low priority is for idle agents, one task at a time. */
const findEligible = (
  deps: Deps,
  registered: RegisteredAgent,
  received: ReceivedMessage[],
): ReceivedMessage[] | Promise<ReceivedMessage[]> => {
  const urgent = capResponseSize(received.filter(({ queueKey }) => !isLowPriority(queueKey)));
  return urgent.length > 0 || received.length === 0 ? urgent : findLowPriorityIfIdle(deps, registered, received);
};

const findLowPriorityIfIdle = async (
  deps: Deps,
  registered: RegisteredAgent,
  received: ReceivedMessage[],
): Promise<ReceivedMessage[]> => ((await hasNoAssignedTasks(deps, registered)) ? received.slice(0, 1) : []);

/** Large inputs beyond the size of a response come with the next claim. */
const capResponseSize = (received: ReceivedMessage[]): ReceivedMessage[] =>
  fitIntoResponse(received, ({ body }) => (isObject(body) && typeof body.bytes === 'number' ? body.bytes : 0));

const hasNoAssignedTasks = async (deps: Deps, { agent }: RegisteredAgent): Promise<boolean> => {
  const held = await deps.records.query({ index: 'byHolder', pk: holderKey(agent.project, agent.id), limit: 1 });
  return held.length === 0;
};

type ClaimIdentity = Pick<ClaimOptions, 'claimId' | 'instance' | 'leaseMs' | 'dialect' | 'prepare'>;

/** A queue message whose task cannot be claimed is stale, and deleted. */
const claimReceivedMessages = async (
  deps: Deps,
  registered: RegisteredAgent,
  received: ReceivedMessage[],
  named: ClaimIdentity,
): Promise<Task[]> => {
  // Their tasks may have limits that they do not name.
  const mayInherit = received.length > 0 && hasInheritedRules(await getLimitRules(deps, registered.agent.project));
  const outcomes = await Promise.allSettled(
    received.map((message) =>
      mayInherit || isLimited(message)
        ? claimWithinLimits(deps, registered, message, named)
        : claimByQueueMessage(deps, registered, message, named),
    ),
  );
  const settled = received.filter((_, index) => {
    const outcome = outcomes[index];
    return outcome?.status === 'fulfilled' || isPermanent(outcome?.reason);
  });
  if (settled.length > 0) await deps.queues.delete(settled);
  const surprise = outcomes.find(
    (outcome) => outcome.status === 'rejected' && !(outcome.reason instanceof ParleyError),
  );
  const tasks = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  if (surprise?.status !== 'rejected') return tasks;
  if (tasks.length === 0) throw surprise.reason;
  deps.log('error', 'claim failed', { error: String(surprise.reason) });
  return tasks;
};

const claimByQueueMessage = async (
  deps: Deps,
  registered: RegisteredAgent,
  message: ReceivedMessage,
  named: ClaimIdentity,
): Promise<Task> => {
  const { project } = registered.agent;
  const { taskId, due, by, parameters } = await prepareClaim(deps, registered, message, named);
  const optimisticChange = toConditionalUpdate(
    buildClaimTransition({ project, id: taskId }, by, { ...parameters, due }),
  );
  const done = await updateTask(deps, project, taskId, optimisticChange, (task) =>
    applyTo(task, buildClaimTransition(task, by, { ...parameters, due: task.due })),
  );
  if (done.outcome === 'unchanged') throw new Error('a claim always changes its task');
  return done.after;
};

const prepareClaim = async (
  deps: Deps,
  registered: RegisteredAgent,
  { queueKey, body }: ReceivedMessage,
  { claimId, instance, leaseMs: wantedMs, dialect, prepare }: ClaimIdentity,
) => {
  const { taskId, queueGeneration, due } = parseQueueBody(body);
  const { leaseMs } = prepare ? await prepare(taskId) : { leaseMs: wantedMs };
  // Before the claim: the holder needs the alias for its reports.
  await ensureAlias(deps, registered.agent.project, getReaderDialect(registered, dialect), taskId);
  // A condition holds a hundred values, and an agent may have more capabilities.
  const by = { ...toActor(deps, registered), capabilities: queueKey.kind === 'capability' ? [queueKey.name] : [] };
  return { taskId, due, by, parameters: { queueGeneration, claimId, instance, leaseMs } };
};

const isLimited = ({ body }: ReceivedMessage): boolean => isObject(body) && body.isLimited === true;

/** What has no place is left out of its queue, and comes back when there is one. */
const claimWithinLimits = async (
  deps: Deps,
  registered: RegisteredAgent,
  message: ReceivedMessage,
  named: ClaimIdentity,
): Promise<Task> => {
  const { claimLimited, limitReachedError } = await import('../limits/claim-limited.ts');
  const { taskId, by, parameters } = await prepareClaim(deps, registered, message, named);
  const { project } = registered.agent;
  const claim = () =>
    claimLimited(deps, project, taskId, (task) =>
      applyTo(task, buildClaimTransition(task, by, { ...parameters, due: task.due })),
    );
  let done = await claim();
  if (done.outcome === 'blocked' && isObject(message.body) && message.body.isStart === true) {
    // Whoever queued it may know newer rules.
    deps.directory.invalidateLimitRules(project);
    done = await claim();
  }
  if (done.outcome === 'blocked') throw limitReachedError({ id: taskId }, done.block, !done.isListed);
  if (done.outcome === 'unchanged') throw new Error('a claim always changes its task');
  return done.after;
};

/** A task that was read, and is for the agent alone. */
export const claimTask = async (
  deps: Deps,
  registered: RegisteredAgent,
  { project, id, queueGeneration }: Task,
  { instance, leaseMs }: Pick<ClaimOptions, 'instance' | 'leaseMs'>,
): Promise<Task> => {
  const { claimLimited, limitReachedError } = await import('../limits/claim-limited.ts');
  const by = toActor(deps, registered);
  const done = await claimLimited(deps, project, id, (task) =>
    applyTo(task, buildClaimTransition(task, by, { queueGeneration, due: task.due, instance, leaseMs })),
  );
  if (done.outcome === 'blocked') throw limitReachedError({ id }, done.block);
  if (done.outcome === 'unchanged') throw new Error('a claim always changes its task');
  return done.after;
};

const parseQueueBody = (body: Json): { taskId: string; queueGeneration: number; due: number } => {
  const { taskId, queueGeneration, due } = isObject(body) ? body : {};
  if (typeof taskId !== 'string' || typeof queueGeneration !== 'number' || typeof due !== 'number') {
    throw new ParleyError('invalid_message', 'a queue message must name a task, a queue generation and a due time');
  }
  return { taskId, queueGeneration, due };
};

/** A task with lost content must not block the others. */
export const encodeClaimedTasks = async (
  deps: Deps,
  registered: RegisteredAgent,
  tasks: Task[],
  dialect?: string,
): Promise<ClaimedTask[]> => {
  const reader = getReaderDialect(registered, dialect);
  const fitting = await declineMisfits(deps, registered, tasks);
  const handed = await Promise.allSettled(fitting.map((task) => encodeClaimedTask(deps, registered, task, reader)));
  return handed.flatMap((outcome, index) => {
    if (outcome.status === 'fulfilled') return [outcome.value];
    deps.log('error', 'encoding claimed task failed', {
      taskId: fitting[index]?.id,
      error: String(outcome.reason),
    });
    return [];
  });
};

/** Other tasks go to other providers. */
const declineMisfits = async (deps: Deps, registered: RegisteredAgent, tasks: Task[]): Promise<Task[]> => {
  if (!registered.agent.schemas) return tasks;
  const fits = await Promise.all(tasks.map((task) => isFitOrDeclined(deps, registered, task)));
  return tasks.filter((_, index) => fits[index]);
};

/** If the check fails, the agent gets the task. */
const isFitOrDeclined = async (deps: Deps, registered: RegisteredAgent, task: Task): Promise<boolean> => {
  try {
    const misfit = await findMisfit(deps, registered, task);
    if (misfit) await applyReport(deps, registered, misfit);
    return !misfit;
  } catch (error) {
    deps.log('warn', 'input not held against its schema', { taskId: task.id, error: String(error) });
    return true;
  }
};

const encodeClaimedTask = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  task: Task,
  dialect: Dialect,
): Promise<ClaimedTask> => {
  return {
    message: await encodeRequestFor(deps, task, dialect, agent.id),
    attempt: task.attempt,
    lease: { until: toIso(task.leaseUntil ?? 0) },
    ...pickTraceFields(task),
    conversationId: task.conversation,
    user: task.user,
    graphId: task.graph,
    steps: toStepsView(task),
  };
};

export const listTasksOfClaim = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  claimId: string,
  taskIds: string[],
): Promise<Task[]> => {
  const tasks = await deps.records.getMany(taskIds.map((id) => taskRef(agent.project, id)));
  return tasks.filter((task) => task.holder === agent.id && task.claimId === claimId && task.endedAt === undefined);
};
