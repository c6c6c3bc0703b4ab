import * as z from 'zod';
import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { PARLEY } from '../inbox/delivery.ts';
import { jsonValue } from '../json/checked.ts';
import { iso } from '../json/iso.ts';
import type { Note } from '../notes/note.ts';
import { ENDS } from '../tasks/task.ts';
import { BATCH_ENDS, type Batch, batchRef } from './batch.ts';
import { messageIdOf, notFound } from './join.ts';
import { kindOfPart, type ShownPart } from './part-kinds.ts';

const PartView = z.object({
  index: z.number(),
  kind: z.string(),
  id: z.string(),
  status: z.enum(['open', ...ENDS]),
  result: jsonValue.optional(),
  uri: z.string().optional().describe('where the result is, if it is too large to stand here'),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

export const BatchView = z.object({
  batchId: z.string(),
  status: z.enum(['open', ...BATCH_ENDS]).describe('success: all completed; partial: some; failed: none'),
  failFast: z.boolean(),
  createdAt: z.iso.datetime(),
  deadline: z.iso.datetime(),
  endedAt: z.iso.datetime().optional(),
  results: z.array(PartView).describe('in the order in which they were asked for'),
});
export type BatchView = z.output<typeof BatchView>;

/** The batch with what each of its parts is at. */
export const batchView = async (deps: Deps, batch: Batch): Promise<BatchView> => {
  const shown = new Map<string, ShownPart>();
  const byKind = Map.groupBy(batch.parts, ({ kind }) => kind);
  for (const [kind, parts] of byKind) {
    const ids = parts.map(({ id }) => id);
    for (const [id, part] of await kindOfPart(kind).shown(deps, batch.project, ids)) shown.set(`${kind} ${id}`, part);
  }
  return {
    batchId: batch.id,
    status: batch.status,
    failFast: batch.failFast,
    createdAt: iso(batch.createdAt),
    deadline: iso(batch.deadline),
    endedAt: iso(batch.endedAt),
    results: batch.parts.map(({ kind, id }, index) => {
      const { isStopped: _stopped, ...end } = batch.ends[index] ?? { status: 'open' };
      return { index, kind, id, ...shown.get(`${kind} ${id}`), ...end };
    }),
  };
};

/** For whoever asked for it. With `waitMs`, the answer comes when it has ended, or after that time. */
export const lookUpBatch = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<BatchView> => {
  const until = deps.clock.now() + waitMs;
  const listener = waitMs > 0 ? deps.records.listen(batchRef(caller.project, id).pk) : undefined;
  try {
    for (;;) {
      const batch = await seen(deps, caller, id);
      const left = until - deps.clock.now();
      if (batch.status !== 'open' || !listener || left <= 0 || signal?.aborted) return await batchView(deps, batch);
      await listener.heard(left, signal);
    }
  } finally {
    listener?.close();
  }
};

const seen = async (deps: Deps, caller: Caller, id: string): Promise<Batch> => {
  const batch = await deps.records.get(batchRef(caller.project, id));
  if (batch && (caller.role === 'admin' || caller.known.agent.id === batch.from)) return batch;
  throw notFound(id);
};

/** How it ended, as a message from Parley that every dialect can tell. */
export const noteOf = (batch: Batch): Note => {
  const { pk, v, token, at, project, id, from: to, endedAt = at, expires = at, fingerprint, traceparent } = batch;
  return {
    pk,
    sk: 'note',
    v,
    token,
    at,
    project,
    id: messageIdOf(batch),
    dialect: PARLEY,
    from: PARLEY,
    to,
    type: `${PARLEY}.batch`,
    priority: 'normal',
    createdAt: endedAt,
    ttlSeconds: Math.round((expires - endedAt) / 1000),
    deadline: expires,
    correlation: id,
    content: { json: null },
    carried: {},
    fingerprint,
    traceparent,
  };
};
