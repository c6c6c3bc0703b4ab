import type { Known } from '../agents/agent.ts';
import { PUBLIC } from '../agents/channels.ts';
import { fittingFor } from '../cards/large-content.ts';
import type { Deps } from '../deps.ts';
import { workOf } from '../dialects/common-ground/encode.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { withoutBlanks } from '../ids.ts';
import type { Json } from '../json/json.ts';
import { inOrder, is } from '../ports/conditions.ts';
import type { Fresh } from '../ports/records.ts';
import { hurry } from '../tasks/change-task.ts';
import { claimTasks } from '../tasks/claim-tasks.ts';
import { loaded } from '../tasks/content.ts';
import { HOLD, queued } from '../tasks/ends.ts';
import { type Task, taskRef } from '../tasks/task.ts';
import { type Head, headRef, headWrite } from './head.ts';
import type { Lease } from './lease.ts';
import { callIn, groundIn, waitersFor } from './tool-call.ts';
import { leased } from './transitions.ts';
import { type Turn, turnRef, workIdOf } from './turn.ts';
import { inboxRow } from './turn-view.ts';

/** The agent's next task as a turn of its own; undefined if there is none in time. */
export const leaseTask = async (
  deps: Deps,
  known: Known,
  options: { waitMs: number; signal?: AbortSignal; leaseId?: string },
): Promise<Lease | undefined> => {
  const [task] = await claimTasks(deps, known, { max: 1, waitMs: options.waitMs, signal: options.signal });
  if (!task) return undefined;
  const { project, id: agent } = known.agent;
  const head = await deps.records.get(headRef(project, agent));
  const taken =
    head === undefined || head.state === 'idle' ? await begun(deps, known, task, head, options.leaseId) : undefined;
  // Another worker of the agent has taken up something meanwhile, and an agent does one thing at a time.
  if (!taken) await giveBack(deps, task);
  return taken;
};

const begun = async (
  deps: Deps,
  known: Known,
  task: Task,
  head: Head | undefined,
  leaseId: string | undefined,
): Promise<Lease | undefined> => {
  const { project, id: agent } = known.agent;
  const now = deps.clock.now();
  const epoch = (head?.epoch ?? 0) + 1;
  const dialect = dialectNamed(known.agent.dialect);
  const about = { project, from: task.from, type: 'task.instruction' } as const;
  const input = await fittingFor(deps, dialect, about, await loaded(deps.blobs, project, task.input));
  const turn = turnFor(deps, agent, task, input, epoch);
  const { id, correlation, depth, channel, from, createdAt, traceparent, tracestate, callers } = turn;
  const active = { correlation, depth, channel, from, createdAt, traceparent, tracestate, callers, task: task.id };
  const change = leased(epoch, id, active, leaseId, { now, limits: deps.config.turns });
  const done = await deps.records.transact(
    [
      { kind: 'create', item: { ...turn } },
      headWrite(headRef(project, agent), head, { project, agent }, change.set ?? {}),
    ],
    deps.newId(),
  );
  return done.outcome === 'written'
    ? { agent_turn_id: id, turn_epoch: epoch, inbox: [inboxRow({ ...turn, ...STAMPS })] }
    : undefined;
};

/** What an engine adds to a record, which a row does not show. */
const STAMPS = { v: 1, token: '', at: 0 };

const turnFor = (deps: Deps, agent: string, task: Task, input: Json, epoch: number): Fresh<Turn> => {
  const { project, from, traceparent, tracestate } = task;
  const ground = groundIn(task.carried);
  const call = ground && callIn(ground);
  const id = workIdOf(task);
  const now = deps.clock.now();
  return {
    ...turnRef(project, id),
    sk: 'turn',
    project,
    id,
    agent,
    correlation: withoutBlanks(task.id),
    depth: ground?.depth ?? 0,
    channel: ground?.channel ?? PUBLIC,
    from,
    createdAt: now,
    payload: workOf(task, input),
    traceparent,
    tracestate,
    callers: call ? waitersFor(call) : task.chain,
    task: task.id,
    attempt: task.attempt,
    state: 'leased',
    epoch,
    leasedAt: now,
    rung: 0,
  };
};

/** Back to its queue as if it had not been claimed. */
const giveBack = async (deps: Deps, task: Task): Promise<void> => {
  const when = { now: deps.clock.now(), limits: deps.config.tasks };
  const back = inOrder(queued(task.deadline, when), { unset: HOLD, add: { attempt: -1 } });
  const done = await deps.records.update(
    taskRef(task.project, task.id),
    { ...back, if: is('v', task.v) },
    deps.newId(),
  );
  if (done.outcome === 'written') await hurry(deps, done);
};
