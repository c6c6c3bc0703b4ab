import { agentPk, type Known, servedDomains, skillsAmong } from '../agents/agent.ts';
import { sawInstance } from '../agents/instances.ts';
import { restOf } from '../agents/orders.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { iso } from '../json/iso.ts';
import { isObject, type Json, type JsonObject } from '../json/json.ts';
import { type Lane, PRIORITIES, type Priority, type Received } from '../ports/queues.ts';
import { changeTask } from './change-task.ts';
import { makeSayable, requestInWords } from './hand-over.ts';
import { byAgent } from './report.ts';
import { onSeen, unseen } from './rules.ts';
import { heldPlace, instanceLane, type Task, taskRef } from './task.ts';
import { claim } from './transitions.ts';

export interface ClaimOptions {
  max: number;
  waitMs: number;
  /** Of the domains that the agent serves, only these. */
  domains?: string[];
  /** Which of the agent's instances asks, where it says so. */
  instance?: string;
  signal?: AbortSignal;
  /** Kept in the tasks that it brings, so that they are found again should the answer never be sent. */
  claimId?: string;
}

export interface ClaimedTask {
  message: JsonObject;
  attempt: number;
  lease: { until: string };
}

/** Long enough to claim what was received, with a few retries; then it is somebody else's. */
const VISIBILITY_MS = 30_000;

/** How long a claim goes through pointless messages in search of a live one. */
const DRAIN_MS = 5000;

/** The agent's next tasks, leased to it. Those addressed to it come first, then those of its domains, by priority. */
export const claimTasks = async (deps: Deps, asking: Known, options: ClaimOptions): Promise<Task[]> => {
  const { max, waitMs, signal } = options;
  const until = deps.clock.now() + waitMs;
  const known = restOf(asking, deps.clock.now()) ? await whenAtWork(deps, asking, until, signal) : asking;
  if (!known) return [];
  const begun = deps.clock.now();
  let lanes = lanesOf(
    known,
    chosenDomains(known, options.domains),
    options.domains ? [] : skillsAmong(known.agent.capabilities),
    options.instance,
  );
  if (options.instance !== undefined) await sawInstance(deps, known.agent, options.instance);
  for (;;) {
    const left = Math.max(0, until - deps.clock.now());
    const received = await deps.queues.receive(lanes, {
      max,
      waitMs: left,
      visibilityMs: VISIBILITY_MS,
      signal,
      leaves: (body) => hasHadInHand(known, body),
    });
    if (received.length > 0 && (await isResting(deps, known))) {
      await deps.queues.release(received);
      return [];
    }
    const taken = await suitable(deps, known, received);
    if (taken.length < received.length) {
      await deps.queues.release(received.filter((message) => !taken.includes(message)));
      if (taken.length === 0) lanes = lanes.filter((lane) => !isLow(lane));
    }
    const claimed = await claimReceived(deps, known, taken, options);
    // What was received and could not be claimed is pointless: something live may stand behind it.
    const isStale = taken.length > 0 && claimed.length === 0;
    const deadline = isStale ? Math.max(until, begun + DRAIN_MS) : until;
    if (claimed.length > 0 || deps.clock.now() >= deadline || signal?.aborted) return claimed;
  }
};

/** The agent as soon as it does not rest; undefined where that is not in time. */
const whenAtWork = async (
  deps: Deps,
  asking: Known,
  until: number,
  signal: AbortSignal | undefined,
): Promise<Known | undefined> => {
  const { project, id } = asking.agent;
  const listener = deps.records.listen(agentPk(project, id));
  try {
    for (;;) {
      // What is remembered of it may be older than the order that lets it work again.
      deps.directory.forget(project, id);
      const known = await deps.directory.agent(project, id);
      const now = deps.clock.now();
      const rest = known && restOf(known, now);
      if (!rest) return known;
      if (now >= until || signal?.aborted) return undefined;
      await listener.heard(Math.min(until, rest.until ?? until) - now, signal);
    }
  } finally {
    listener.close();
  }
};

/** It may have been told to pause while it waited. */
const isResting = async (deps: Deps, { agent }: Known): Promise<boolean> => {
  const known = await deps.directory.agent(agent.project, agent.id);
  return known !== undefined && restOf(known, deps.clock.now()) !== undefined;
};

/** Work that somebody delegated does not come back to one who has had it. */
const hasHadInHand = ({ agent }: Known, body: Json): boolean =>
  isObject(body) && Array.isArray(body.chain) && body.chain.includes(agent.id);

const isLow = (lane: Lane): boolean => lane.priority === 'low';

/** Work of low priority is for whoever has nothing else to do, and one piece at a time. */
const suitable = (deps: Deps, known: Known, received: Received[]): Received[] | Promise<Received[]> => {
  const urgent = inOneAnswer(received.filter(({ lane }) => !isLow(lane)));
  return urgent.length > 0 || received.length === 0 ? urgent : oneIfIdle(deps, known, received);
};

const oneIfIdle = async (deps: Deps, known: Known, received: Received[]): Promise<Received[]> =>
  (await holdsNothing(deps, known)) ? received.slice(0, 1) : [];

/** What one answer holds of large inputs; what is beyond comes with the next claim. */
const ANSWER_BYTES = 3 * 1024 * 1024;

const inOneAnswer = (received: Received[]): Received[] => {
  let bytes = 0;
  return received.filter(({ body }, index) => {
    bytes += isObject(body) && typeof body.bytes === 'number' ? body.bytes : 0;
    return index === 0 || bytes <= ANSWER_BYTES;
  });
};

const chosenDomains = (known: Known, wanted: string[] | undefined): string[] => {
  const served = servedDomains(known);
  const foreign = wanted?.filter((domain) => !served.includes(domain)) ?? [];
  if (foreign.length === 0) return wanted ?? served;
  throw new ParleyError('not_eligible', `The agent ${known.agent.id} does not serve ${foreign.join(', ')}.`);
};

/** Whoever asks for some domains only is given no other work but what is addressed to it. */
const lanesOf = (
  { agent: { project, id } }: Known,
  domains: string[],
  skills: string[],
  instance: string | undefined,
): Lane[] => {
  const names = instance === undefined ? [id] : [instanceLane(id, instance), id];
  const lanes: Lane[] = [];
  const add = (kind: Lane['kind'], of: readonly string[], priority: Priority): void => {
    for (const name of of) lanes.push({ project, kind, name, priority });
  };
  const addShared = (priority: Priority): void => {
    add('domain', domains, priority);
    add('capability', skills, priority);
  };
  for (const priority of URGENT) add('agent', names, priority);
  for (const priority of URGENT) addShared(priority);
  add('agent', names, 'low');
  addShared('low');
  return lanes;
};

const URGENT = PRIORITIES.filter((priority) => priority !== 'low');

const holdsNothing = async (deps: Deps, { agent }: Known): Promise<boolean> => {
  const held = await deps.records.query({ index: 'held', p: heldPlace(agent.project, agent.id), limit: 1 });
  return held.length === 0;
};

/** In whose name a claim is made. */
type Named = Pick<ClaimOptions, 'claimId' | 'instance'>;

/** A queue message whose task cannot be claimed has become pointless, and goes. */
const claimReceived = async (deps: Deps, known: Known, received: Received[], named: Named): Promise<Task[]> => {
  const outcomes = await Promise.allSettled(received.map((message) => claimOne(deps, known, message, named)));
  const settled = received.filter((_, index) => {
    const outcome = outcomes[index];
    return (
      outcome?.status === 'fulfilled' || (outcome?.reason instanceof ParleyError && outcome.reason.retry === 'never')
    );
  });
  if (settled.length > 0) await deps.queues.delete(settled);
  const surprise = outcomes.find(
    (outcome) => outcome.status === 'rejected' && !(outcome.reason instanceof ParleyError),
  );
  const tasks = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  if (surprise?.status !== 'rejected') return tasks;
  if (tasks.length === 0) throw surprise.reason;
  deps.log('error', 'a task could not be claimed beside others', { error: String(surprise.reason) });
  return tasks;
};

const claimOne = async (
  deps: Deps,
  known: Known,
  { lane, body }: Received,
  { claimId, instance }: Named,
): Promise<Task> => {
  const { taskId, entry, due } = queueBody(body);
  const { project } = known.agent;
  // Before the claim, for without it the agent would hold what it cannot report on.
  await makeSayable(deps, project, dialectNamed(known.agent.dialect), taskId);
  // A condition holds a hundred values at most, and an agent may have more capabilities.
  const by = { ...byAgent(deps, known), skills: lane.kind === 'capability' ? [lane.name] : [] };
  const blind = unseen(claim({ project, id: taskId }, by, { entry, due, claimId, instance }));
  const done = await changeTask(deps, project, taskId, blind, (task) =>
    onSeen(task, claim(task, by, { entry, due: task.due, claimId, instance })),
  );
  if (done.outcome === 'unchanged') throw new Error('a claim always changes its task');
  return done.after;
};

const queueBody = (body: Json): { taskId: string; entry: number; due: number } => {
  const { taskId, entry, due } = isObject(body) ? body : {};
  if (typeof taskId !== 'string' || typeof entry !== 'number' || typeof due !== 'number') {
    throw new ParleyError('invalid_message', 'a queue message must name a task, an entry and a due time');
  }
  return { taskId, entry, due };
};

/** One task whose content is lost must not keep the others from the agent that holds them. */
export const handOverAll = async (deps: Deps, known: Known, tasks: Task[]): Promise<ClaimedTask[]> => {
  const handed = await Promise.allSettled(tasks.map((task) => handOver(deps, known, task)));
  return handed.flatMap((outcome, index) => {
    if (outcome.status === 'fulfilled') return [outcome.value];
    deps.log('error', 'a claimed task could not be handed over', {
      taskId: tasks[index]?.id,
      error: String(outcome.reason),
    });
    return [];
  });
};

/** The claimed task as a message in the agent's own dialect. */
const handOver = async (deps: Deps, { agent }: Known, task: Task): Promise<ClaimedTask> => {
  return {
    message: await requestInWords(deps, task, dialectNamed(agent.dialect), agent.id),
    attempt: task.attempt,
    lease: { until: iso(task.leaseUntil ?? 0) },
  };
};

/** The tasks of an earlier claim that the agent still holds. */
export const stillHeld = async (deps: Deps, { agent }: Known, claimId: string, taskIds: string[]): Promise<Task[]> => {
  const tasks = await deps.records.getMany(taskIds.map((id) => taskRef(agent.project, id)));
  return tasks.filter((task) => task.holder === agent.id && task.claimId === claimId && task.endedAt === undefined);
};
