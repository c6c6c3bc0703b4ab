import * as z from 'zod';
import { recordItemEnd } from '../../batches/record-item-end.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { measureJson } from '../../kernel/json/json.ts';
import { createChildSpan, pickTraceFields } from '../../kernel/trace.ts';
import { type Batch, batchRef } from '../../model/batch.ts';
import { listWaitingAgents } from '../../model/tool-call.ts';
import { toBatchItemTurnId } from '../../model/turn.ts';
import { equals } from '../../ports/conditions.ts';
import type { NewItem } from '../../ports/records.ts';
import { deleteOrphans, loadContent, storeContent } from '../../storage/content.ts';
import { enqueueTurn } from '../lifecycle/enqueue.ts';
import type { ValidatedCall } from './call-tool.ts';
import { callContextBox, callInstruction, callTarget, resolveCallTarget, TargetStrategy } from './delegate.ts';

export const ForkJoinArguments = z.strictObject({
  tasks: boundedArray(
    z.strictObject({
      target_strategy: TargetStrategy,
      target_ref: callTarget,
      instruction: callInstruction,
      context_box_id: callContextBox,
    }),
    { min: 1, max: 8 },
  ),
  fail_fast: z.boolean().default(false),
  deadline_seconds: z.number().min(1).max(86_400).default(900),
});

const ForkItems = ForkJoinArguments.shape.tasks;

/** Several turns with one result. */
export const createForkJoin = async (
  deps: Deps,
  caller: Caller,
  { call, id, trace, headers, buildGuard }: ValidatedCall,
  { tasks, fail_fast, deadline_seconds }: z.output<typeof ForkJoinArguments>,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  const { writes, toError } = buildGuard();
  const now = deps.clock.now();
  const pendingTurns = await storeContent(deps, project, id, measureJson(tasks));
  const fingerprint = computeFingerprint([tasks, fail_fast, deadline_seconds]);
  const batch: NewItem<Batch> = {
    ...batchRef(project, id),
    sk: 'batch',
    project,
    id,
    from: call.agent,
    status: 'open',
    items: tasks.map((_, child) => ({ kind: 'turn', id: toBatchItemTurnId({ batchId: id, index: child }) })),
    openItems: Object.fromEntries(tasks.map((_, child) => [child, true])),
    openCount: tasks.length,
    itemEnds: {},
    failFast: fail_fast,
    deadline: now + deadline_seconds * 1000,
    pendingTurns,
    attempts: 0,
    call: { ...call, headers },
    fingerprint,
    createdAt: now,
    ...createChildSpan(trace),
    due: now + (FORK_RETRY_MS[0] ?? 0),
  };
  const token = deps.newId();
  const made = await deps.records.transact([{ kind: 'create', item: { ...batch } }, ...writes], token);
  if (made.outcome === 'written') {
    await createForkTurns(deps, { ...batch, v: 1, token, at: now });
    return { duplicate: false };
  }
  const other = await deps.records.get(batchRef(project, id));
  await deleteOrphans(deps.blobs, [pendingTurns], [other?.pendingTurns]);
  if (other?.fingerprint === fingerprint) return { duplicate: true };
  throw toError(made.at - 1, made.existing);
};

const FORK_RETRY_MS = [2000, 4000, 8000, 16_000, 30_000];

/** Idempotent: rejected turns have failed, other errors are retried. */
export const createForkTurns = async (deps: Deps, batch: Batch): Promise<void> => {
  const { pendingTurns, call, project, attempts = 0 } = batch;
  if (!pendingTurns || !call || batch.status !== 'open') return;
  const tasks = ForkItems.parse(await loadContent(deps.blobs, project, pendingTurns));
  const begun = await Promise.allSettled(tasks.map((task, child) => createForkTurn(deps, batch, task, child)));
  const failures = begun.filter((outcome) => outcome.status === 'rejected');
  const retryMs = FORK_RETRY_MS[attempts];
  if (failures.length > 0 && retryMs === undefined) {
    for (const child of batch.items.keys()) {
      const outcome = begun[child];
      if (outcome?.status === 'rejected') {
        const error = { code: 'dispatch_failed', message: String(outcome.reason) };
        await recordItemEnd(deps, project, { batchId: batch.id, index: child }, { status: 'failed', error });
      }
    }
  }
  const isDone = failures.length === 0 || retryMs === undefined;
  const later = isDone
    ? { set: { due: batch.deadline }, unset: ['pendingTurns'] }
    : { set: { due: Math.min(batch.deadline, deps.clock.now() + retryMs), attempts: attempts + 1 } };
  await deps.records.update(batchRef(project, batch.id), { ...later, if: equals('status', 'open') }, deps.newId());
};

const createForkTurn = async (
  deps: Deps,
  batch: Batch,
  task: z.output<typeof ForkItems>[number],
  child: number,
): Promise<void> => {
  const { project, call } = batch;
  if (!call) return;
  const batchMembership = { batchId: batch.id, index: child };
  try {
    await enqueueTurn(
      deps,
      { project, role: 'admin' },
      {
        id: toBatchItemTurnId(batchMembership),
        agent: await resolveCallTarget(deps, project, task.target_strategy, task.target_ref),
        correlation: uuidFromSeed(['fork', batch.id, child]),
        mode: 'call',
        channel: call.channel,
        depth: call.depth + 1,
        contextBox: task.context_box_id,
        payload: { instruction: task.instruction, task_index: child },
        headers: call.headers,
        protocolVersion: call.protocolVersion,
        trace: pickTraceFields(batch),
        from: call.agent,
        callers: listWaitingAgents(call),
        batchMembership,
      },
    );
  } catch (error) {
    if (!isPermanent(error)) throw error;
    const { code, message } = error;
    await recordItemEnd(deps, project, batchMembership, { status: 'failed', error: { code, message } });
  }
};
