import * as z from 'zod';
import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { SYSTEM_SENDER } from '../kernel/ids.ts';
import type { Json } from '../kernel/json/json.ts';
import { jsonValue } from '../kernel/json/parse-or-throw.ts';
import { pickTraceFields } from '../kernel/trace.ts';
import { BATCH_ENDS, type Batch, type BatchItem, batchRef } from '../model/batch.ts';
import type { DirectMessage } from '../model/direct-message.ts';
import { type Task, TERMINAL_STATUSES, taskRef } from '../model/task.ts';
import { type Turn, turnRef } from '../model/turn.ts';
import { toIso } from '../ports/clock.ts';
import { waitUntil } from '../storage/wait-until.ts';
import { toTaskView } from '../tasks/queries/task-view.ts';
import { batchNotFoundError, getBatchMessageId } from './record-item-end.ts';

const BatchItemView = z.object({
  index: z.number(),
  kind: z.string(),
  id: z.string(),
  status: z.enum(['open', ...TERMINAL_STATUSES]),
  result: jsonValue.optional(),
  uri: z.string().optional().describe('the address of a result that is too large for this response'),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

export const BatchView = z
  .object({
    batchId: z.string(),
    status: z
      .enum(['open', ...BATCH_ENDS])
      .describe('`success`: all tasks are completed; `partial`: some are; `failed`: none is; `cancelled`: by a call'),
    failFast: z.boolean(),
    createdAt: z.iso.datetime(),
    deadline: z.iso.datetime(),
    endedAt: z.iso.datetime().optional(),
    cancelledBy: z.string().optional(),
    cancelReason: z.string().optional(),
    results: z.array(BatchItemView).describe('in the order of the request'),
  })
  .meta({ id: 'Batch' });
export type BatchView = z.output<typeof BatchView>;

/** In a list. */
export const BatchSummary = BatchView.omit({ results: true })
  .extend({
    from: z.string(),
    items: z.number(),
    openItems: z.number(),
  })
  .meta({ id: 'BatchSummary' });

export const toBatchSummary = (batch: Batch): z.output<typeof BatchSummary> => ({
  batchId: batch.id,
  status: batch.status,
  failFast: batch.failFast,
  createdAt: toIso(batch.createdAt),
  deadline: toIso(batch.deadline),
  endedAt: toIso(batch.endedAt),
  cancelledBy: batch.cancelledBy,
  cancelReason: batch.cancelReason,
  from: batch.from,
  items: batch.items.length,
  openItems: batch.openCount,
});

export const loadBatchView = async (deps: Deps, batch: Batch): Promise<BatchView> => {
  const shown = new Map<string, BatchItemResult>();
  const byKind = Map.groupBy(batch.items, ({ kind }) => kind);
  for (const [kind, parts] of byKind) {
    const ids = parts.map(({ id }) => id);
    for (const [id, part] of await loadItemResults(deps, batch.project, kind, ids)) shown.set(`${kind} ${id}`, part);
  }
  return {
    batchId: batch.id,
    status: batch.status,
    failFast: batch.failFast,
    createdAt: toIso(batch.createdAt),
    deadline: toIso(batch.deadline),
    endedAt: toIso(batch.endedAt),
    cancelledBy: batch.cancelledBy,
    cancelReason: batch.cancelReason,
    results: batch.items.map(({ kind, id }, index) => {
      const { isStopped: _stopped, ...end } = batch.itemEnds[index] ?? { status: 'open' };
      return { index, kind, id, ...shown.get(`${kind} ${id}`), ...end };
    }),
  };
};

/** By its requester. With `waitMs`, returns when the batch has ended, or after that time. */
export const getBatch = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<BatchView> => {
  const read = (): Promise<Batch> => getReadableBatch(deps, caller, id);
  const { pk } = batchRef(caller.project, id);
  return loadBatchView(deps, await waitUntil(deps, [pk], { waitMs, signal }, read, ({ status }) => status !== 'open'));
};

export const getReadableBatch = async (deps: Deps, caller: Caller, id: string): Promise<Batch> => {
  const batch = await deps.records.get(batchRef(caller.project, id));
  if (batch && (caller.role === 'admin' || caller.registered.agent.id === batch.from)) return batch;
  throw batchNotFoundError(id);
};

/** The outcome as a message from Parley. */
export const toDirectMessage = (batch: Batch): DirectMessage => {
  const { pk, v, token, at, project, id, from: to, endedAt = at, expires = at, fingerprint } = batch;
  return {
    pk,
    sk: 'direct-message',
    v,
    token,
    at,
    project,
    id: getBatchMessageId(batch),
    dialect: SYSTEM_SENDER,
    from: SYSTEM_SENDER,
    to,
    type: `${SYSTEM_SENDER}.batch`,
    priority: 'normal',
    createdAt: endedAt,
    ttlSeconds: Math.round((expires - endedAt) / 1000),
    deadline: expires,
    correlation: id,
    content: { json: null },
    extensions: {},
    fingerprint,
    ...pickTraceFields(batch),
  };
};

/** Of an item, beside how it ended. */
interface BatchItemResult {
  result?: Json;
  /** If the result is too large to be included. */
  uri?: string;
  error?: { code: string; message: string };
}

type ItemResultLoader = (deps: Deps, project: string, ids: string[]) => Promise<Map<string, BatchItemResult>>;

const loadTaskResults: ItemResultLoader = async (deps, project, ids) => {
  const tasks = await deps.records.getMany(ids.map((id) => taskRef(project, id)));
  return new Map(tasks.map((one) => [one.id, toTaskResult(one)]));
};

const toTaskResult = (one: Task): BatchItemResult => {
  const { id, output } = one;
  const { error } = toTaskView(one);
  if (error) return { error: { code: error.code, message: error.message } };
  if (!output) return {};
  return 'json' in output ? { result: output.json } : { uri: `/v1/tasks/${encodeURIComponent(id)}` };
};

const loadTurnResults: ItemResultLoader = async (deps, project, ids) => {
  const turns = await deps.records.getMany(ids.map((id) => turnRef(project, id)));
  return new Map(turns.map((one) => [one.id, toTurnResult(one)]));
};

const toTurnResult = ({ end }: Turn): BatchItemResult =>
  end?.deliverable === undefined ? {} : { uri: `/v1/cards/${end.deliverable}` };

const RESULT_LOADERS: Readonly<Record<BatchItem['kind'], ItemResultLoader>> = {
  task: loadTaskResults,
  turn: loadTurnResults,
};

/** Expired ones are missing. */
const loadItemResults = (
  deps: Deps,
  project: string,
  kind: BatchItem['kind'],
  ids: string[],
): Promise<Map<string, BatchItemResult>> => RESULT_LOADERS[kind](deps, project, ids);
