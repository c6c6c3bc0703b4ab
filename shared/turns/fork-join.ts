import * as z from 'zod';
import { skillsAmong } from '../agents/agent.ts';
import { type Caller, find, nameOf } from '../agents/authenticate.ts';
import { type Batch, batchRef } from '../batches/batch.ts';
import { join } from '../batches/join.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { fingerprint } from '../json/fingerprint.ts';
import { sized } from '../json/size.ts';
import type { Done } from '../messages/command.ts';
import { is } from '../ports/conditions.ts';
import type { Fresh } from '../ports/records.ts';
import { discarded, kept, loaded } from '../tasks/content.ts';
import { childOf } from '../trace.ts';
import type { Checked } from './call-tool.ts';
import { enqueue } from './enqueue.ts';
import { waitersFor } from './tool-call.ts';
import { partIdOf } from './turn.ts';

const target = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be an agent or a capability');
const instruction = z.string().min(1).max(16_384);
const box = z.string().min(1).max(128).optional();

export const ForkJoin = z.strictObject({
  tasks: z
    .array(
      z.strictObject({
        target_strategy: z.enum(['new', 'reuse', 'clone']),
        target_ref: target,
        instruction,
        context_box_id: box,
      }),
    )
    .min(1)
    .max(8),
  fail_fast: z.boolean().default(false),
  deadline_seconds: z.number().int().min(1).max(86_400).default(900),
});

export const Delegate = z.strictObject({ target_ref: target, instruction, context_box_id: box });

const Forks = ForkJoin.shape.tasks;

/** A set of turns whose ends are told to the turn that asked for them as one. */
export const forkJoin = async (
  deps: Deps,
  caller: Caller,
  { call, id, trace, proviso }: Checked,
  { tasks, fail_fast, deadline_seconds }: z.output<typeof ForkJoin>,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  const { writes, refused } = proviso();
  const now = deps.clock.now();
  const forks = await kept(deps, project, id, sized(tasks));
  const print = fingerprint([tasks, fail_fast, deadline_seconds]);
  const batch: Fresh<Batch> = {
    ...batchRef(project, id),
    sk: 'batch',
    project,
    id,
    from: call.agent,
    status: 'open',
    parts: tasks.map((_, child) => ({ kind: 'turn', id: partIdOf({ batch: id, child }) })),
    open: Object.fromEntries(tasks.map((_, child) => [child, true])),
    left: tasks.length,
    ends: {},
    failFast: fail_fast,
    deadline: now + deadline_seconds * 1000,
    forks,
    tries: 0,
    call,
    fingerprint: print,
    createdAt: now,
    ...childOf(trace),
    due: now + (RETRY_MS[0] ?? 0),
  };
  const token = deps.newId();
  const made = await deps.records.transact([{ kind: 'create', item: { ...batch } }, ...writes], token);
  if (made.outcome === 'written') {
    await forked(deps, { ...batch, v: 1, token, at: now });
    return { duplicate: false };
  }
  const other = await deps.records.get(batchRef(project, id));
  await discarded(deps.blobs, [forks], [other?.forks]);
  if (other?.fingerprint === print) return { duplicate: true };
  throw refused(made.at - 1, made.current);
};

/** When to try again what could not be begun. */
const RETRY_MS = [2000, 4000, 8000, 16_000, 30_000];

/** Makes the turns that the batch does not have yet. What is refused for good has failed; anything else is tried again. */
export const forked = async (deps: Deps, batch: Batch): Promise<void> => {
  const { forks, call, project, tries = 0 } = batch;
  if (!forks || !call || batch.status !== 'open') return;
  const tasks = Forks.parse(await loaded(deps.blobs, project, forks));
  const begun = await Promise.allSettled(tasks.map((task, child) => fork(deps, batch, task, child)));
  const failures = begun.filter((outcome) => outcome.status === 'rejected');
  const retryMs = RETRY_MS[tries];
  if (failures.length > 0 && retryMs === undefined) {
    for (const child of batch.parts.keys()) {
      const outcome = begun[child];
      if (outcome?.status === 'rejected') {
        const error = { code: 'dispatch_failed', message: String(outcome.reason) };
        await join(deps, project, { batch: batch.id, child }, { status: 'failed', error });
      }
    }
  }
  const isDone = failures.length === 0 || retryMs === undefined;
  const later = isDone
    ? { set: { due: batch.deadline }, unset: ['forks'] }
    : { set: { due: Math.min(batch.deadline, deps.clock.now() + retryMs), tries: tries + 1 } };
  await deps.records.update(batchRef(project, batch.id), { ...later, if: is('status', 'open') }, deps.newId());
};

const fork = async (deps: Deps, batch: Batch, task: z.output<typeof Forks>[number], child: number): Promise<void> => {
  const { project, call, traceparent, tracestate } = batch;
  if (!call) return;
  const joins = { batch: batch.id, child };
  try {
    await enqueue(
      deps,
      { project, role: 'admin' },
      {
        id: partIdOf(joins),
        agent: await targetOf(deps, project, task.target_strategy, task.target_ref),
        correlation: `${batch.id}:${child}`,
        mode: 'call',
        channel: call.channel,
        depth: call.depth + 1,
        contextBox: task.context_box_id,
        payload: { instruction: task.instruction, task_index: child },
        trace: { traceparent, tracestate },
        from: call.agent,
        callers: waitersFor(call),
        joins,
      },
    );
  } catch (error) {
    if (!(error instanceof ParleyError && error.retry === 'never')) throw error;
    const { code, message } = error;
    await join(deps, project, joins, { status: 'failed', error: { code, message } });
  }
};

/** `reuse` is the agent itself; `new` and `clone` are any of its kind, where it belongs to a group that leases turns. */
const targetOf = async (
  deps: Deps,
  project: string,
  strategy: 'new' | 'reuse' | 'clone',
  ref: string,
): Promise<string> => {
  if (strategy === 'reuse') return ref;
  const agent = (await find(deps, project, ref))?.agent;
  if (!agent || !dialectNamed(agent.dialect).takesTurns) return ref;
  const [group] = skillsAmong(agent.capabilities);
  return group ?? ref;
};

/** One turn of one agent, whose end is the result of the call. */
export const delegate = async (
  deps: Deps,
  caller: Caller,
  { call, id, trace, proviso }: Checked,
  { target_ref, instruction: text, context_box_id }: z.output<typeof Delegate>,
): Promise<Done> => {
  const wanted = {
    agent: target_ref,
    correlation: id,
    mode: 'call',
    channel: call.channel,
    depth: call.depth + 1,
    contextBox: context_box_id,
    payload: { instruction: text },
    trace,
    from: nameOf(caller),
    callers: waitersFor(call),
    parent: call,
  };
  const { turn, duplicate } = await enqueue(deps, caller, wanted, proviso());
  return { duplicate, agentTurnId: turn };
};
