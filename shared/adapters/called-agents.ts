import { canServe } from '../identity/agents/agent.ts';
import type { Directory } from '../identity/agents/directory.ts';
import type { Deps } from '../identity/deps.ts';
import {
  type AgentCall,
  type AgentCaller,
  agentCallerRef,
  agentCallersKey,
  agentCallRef,
} from '../model/agent-call.ts';
import { holderKey, type Task } from '../model/task.ts';
import { equals, greaterThan, notExists, or } from '../ports/conditions.ts';
import { claimTasks } from '../tasks/commands/claim-tasks.ts';

export { onAgentCallTimer } from './a2a/call/call-timer.ts';

/** Agents that Parley calls, instead of being called by them. */

/** Tasks that one of them has at a time. */
const MAX_CALLS = 10;
const MAX_CALLERS = 100;
/** Should a wake-up be lost. */
const IDLE_POLL_MS = 60_000;
/** After a wake-up that found nothing: one short poll of SQS in some comes back empty. */
const FIRST_RECHECK_MS = 2000;
const CALL_LEASE_MS = 5 * 60_000;
const CACHE_MS = 5000;

/** Claims for its agent, and begins to call it. */
export const onAgentCallerTimer = async (deps: Deps, caller: AgentCaller): Promise<void> => {
  const { project, agent, pk, sk } = caller;
  const registered = await deps.directory.getAgent(project, agent);
  if (registered?.agent.url === undefined) return await deps.records.delete({ pk, sk });
  const held = await deps.records.query({ index: 'byHolder', pk: holderKey(project, agent), limit: MAX_CALLS });
  const room = MAX_CALLS - held.length;
  const options = { max: Math.max(1, room), waitMs: 0, leaseMs: CALL_LEASE_MS };
  const claimed = room > 0 ? await claimTasks(deps, registered, options) : [];
  // A task that is claimed and has no call is found by the next look at what is held.
  const assigned = [...held.filter((item): item is Task => item.sk === 'task'), ...claimed];
  await Promise.all(assigned.map((task) => ensureCall(deps, agent, task)));
  const due = deps.clock.now() + getPauseMs(caller, claimed.length, room);
  await deps.records.update<AgentCaller>({ pk, sk }, { if: equals('v', caller.v), set: { due } }, deps.newId());
};

const getPauseMs = ({ due = 0, at }: AgentCaller, claimed: number, room: number): number => {
  if (claimed > 0) return claimed === room ? 0 : IDLE_POLL_MS;
  return Math.min(IDLE_POLL_MS, Math.max(FIRST_RECHECK_MS, 2 * (due - at)));
};

/** Once for each attempt. */
const ensureCall = async (deps: Deps, agent: string, { project, id, attempt }: Task): Promise<void> => {
  const ref = agentCallRef(project, id);
  const now = deps.clock.now();
  const fields = { project, agent, taskId: id, attempt, startedAt: now, answers: 0, failures: 0, due: now };
  const created = await deps.records.create<AgentCall>({ ...ref, sk: 'agent-call', ...fields }, deps.newId());
  if (created.outcome === 'written' || created.existing?.attempt === attempt) return;
  const change = {
    if: equals('attempt', created.existing?.attempt ?? 0),
    set: fields,
    unset: ['isSent', 'remoteId', 'said'],
  };
  await deps.records.update<AgentCall>(ref, change, deps.newId());
};

interface CachedCallers {
  until: number;
  found: Promise<AgentCaller[]>;
}
const caches = new WeakMap<Directory, Map<string, CachedCallers>>();

const listCallers = (deps: Deps, project: string): Promise<AgentCaller[]> => {
  const cache = caches.get(deps.directory) ?? new Map<string, CachedCallers>();
  caches.set(deps.directory, cache);
  const known = cache.get(project);
  const now = deps.clock.now();
  if (known && known.until > now) return known.found;
  const found = deps.records.query<AgentCaller>({ index: 'byList', pk: agentCallersKey(project), limit: MAX_CALLERS });
  cache.set(project, { until: now + CACHE_MS, found });
  found.catch(() => cache.delete(project));
  return found;
};

export type WakingTask = Pick<Task, 'project' | 'id' | 'to' | 'domain' | 'capability' | 'notBefore' | 'status'>;

/** Something has changed that one of them must be told, or can do. */
export const wakeAgentCallers = async (deps: Deps, tasks: readonly WakingTask[]): Promise<void> => {
  for (const task of tasks) {
    const { project, id, to, notBefore } = task;
    const callers = await listCallers(deps, project);
    if (callers.length === 0) continue;
    const now = deps.clock.now();
    if (task.status !== 'requested') {
      // Without a call there is nothing to wake.
      await wake(deps, agentCallRef(project, id), now);
      continue;
    }
    for (const { agent } of callers) {
      const registered = await deps.directory.getAgent(project, agent);
      const isFor = to === undefined ? registered && canServe(registered, task) : to === agent;
      if (isFor) await wake(deps, agentCallerRef(project, agent), Math.max(now, notBefore ?? 0));
    }
  }
};

const wake = async (deps: Deps, ref: { pk: string; sk: string }, due: number): Promise<void> => {
  const change = { if: or(notExists('due'), greaterThan('due', due)), set: { due } };
  await deps.records.update(ref, change, deps.newId());
};
