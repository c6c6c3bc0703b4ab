import { type Known, servedDomains } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { isObject, type Json, type JsonObject } from '../json/json.ts';
import { type Lane, PRIORITIES, type Received } from '../ports/queues.ts';
import { changeTask } from './change-task.ts';
import { loaded } from './content.ts';
import { byAgent } from './report.ts';
import { onSeen, unseen } from './rules.ts';
import { heldPlace, type Task, taskRef } from './task.ts';
import { claim } from './transitions.ts';

export interface ClaimOptions {
  max: number;
  waitMs: number;
  /** Of the domains that the agent serves, only these. */
  domains?: string[];
  signal?: AbortSignal;
}

export interface ClaimedTask {
  message: JsonObject;
  attempt: number;
  lease: { until: string };
}

/** Long enough to claim what was received, with a few retries; then it is somebody else's. */
const VISIBILITY_MS = 30_000;

/** The agent's next tasks, leased to it. Those addressed to it come first, then those of its domains, by priority. */
export const claimTasks = async (deps: Deps, known: Known, options: ClaimOptions): Promise<Task[]> => {
  const now = (): number => deps.clock.now();
  const until = now() + options.waitMs;
  const domains = chosenDomains(known, options.domains);
  const urgent = lanesOf(known, domains, ['critical', 'high', 'normal']);
  const idle = [...urgent, ...lanesOf(known, domains, ['low'])];
  const claimed: Task[] = [];
  for (let first = true; first || (claimed.length === 0 && now() < until && !options.signal?.aborted); first = false) {
    const max = options.max - claimed.length;
    let received = await deps.queues.receive(urgent, { max, waitMs: 0, visibilityMs: VISIBILITY_MS });
    if (received.length === 0) {
      // Work of low priority is for whoever has nothing else to do, and one piece at a time.
      const isIdle = await holdsNothing(deps, known);
      const waitMs = Math.max(0, until - now());
      const wait = { waitMs, visibilityMs: VISIBILITY_MS, signal: options.signal };
      received = await deps.queues.receive(isIdle ? idle : urgent, { max: isIdle ? 1 : max, ...wait });
    }
    claimed.push(...(await claimReceived(deps, known, received)));
  }
  return claimed;
};

const chosenDomains = (known: Known, wanted: string[] | undefined): string[] => {
  const served = servedDomains(known);
  const foreign = wanted?.filter((domain) => !served.includes(domain)) ?? [];
  if (foreign.length === 0) return wanted ?? served;
  throw new ParleyError('not_eligible', `The agent ${known.agent.id} does not serve ${foreign.join(', ')}.`);
};

const lanesOf = (
  { agent: { project, id } }: Known,
  domains: string[],
  priorities: readonly Lane['priority'][],
): Lane[] => [
  ...PRIORITIES.filter((priority) => priorities.includes(priority)).map(
    (priority): Lane => ({ project, kind: 'agent', name: id, priority }),
  ),
  ...priorities.flatMap((priority) => domains.map((name): Lane => ({ project, kind: 'domain', name, priority }))),
];

const holdsNothing = async (deps: Deps, { agent }: Known): Promise<boolean> => {
  const held = await deps.records.query({ index: 'placed', p: heldPlace(agent.project, agent.id), limit: 1 });
  return held.length === 0;
};

/** A queue message whose task cannot be claimed has become pointless, and goes. */
const claimReceived = async (deps: Deps, known: Known, received: Received[]): Promise<Task[]> => {
  const outcomes = await Promise.allSettled(received.map((message) => claimOne(deps, known, message.body)));
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
  if (surprise?.status === 'rejected' && tasks.length === 0) throw surprise.reason;
  return tasks;
};

const claimOne = async (deps: Deps, known: Known, body: Json): Promise<Task> => {
  const { taskId, entry, due } = queueBody(body);
  const { project } = known.agent;
  const by = byAgent(deps, known);
  const blind = unseen(claim({ project, id: taskId }, by, { entry, due }));
  const done = await changeTask(deps, project, taskId, blind, (task) =>
    onSeen(task, claim(task, by, { entry, due: task.due })),
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

/** The claimed task as a message in the agent's own dialect. */
export const handOver = async (deps: Deps, known: Known, task: Task): Promise<ClaimedTask> => ({
  message: dialectNamed(known.agent.dialect).encodeRequest(task, await loaded(deps.blobs, task.input)),
  attempt: task.attempt,
  lease: { until: new Date(task.leaseUntil ?? 0).toISOString() },
});

/** The tasks of an earlier claim that the agent still holds. */
export const stillHeld = async (deps: Deps, { agent }: Known, taskIds: string[]): Promise<Task[]> => {
  const tasks = await deps.records.getMany(taskIds.map((id) => taskRef(agent.project, id)));
  return tasks.filter((task) => task.holder === agent.id && task.endedAt === undefined);
};
