import { parseBatchTurn } from '../../adapters/parse-batch-turn.ts';
import { getAuditDialect } from '../../dialects/is-audited.ts';
import { DIALECTS, resolveDialect } from '../../dialects/registry.ts';
import { type Caller, findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { assertNotReserved, uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { type JsonObject, measureJson } from '../../kernel/json/json.ts';
import { assertSameRequest } from '../../kernel/same-request.ts';
import { pickCallTrace, type Trace } from '../../kernel/trace.ts';
import { type Batch, type BatchItem, batchRef } from '../../model/batch.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import { inboxPk } from '../../model/delivery.ts';
import type { PendingRequest, RequestIssue, Submitter } from '../../model/pending-request.ts';
import { deleteOrphans, storeContent } from '../../storage/content.ts';
import {
  CREATE_RETRY_MS,
  checkRequests,
  formatNotices,
  rejectedRequestsError,
  toRequest,
  withResolvedReferences,
} from '../deferred/create-pending.ts';
import { createBatchItems } from './batch-lifecycle.ts';

interface NewBatch {
  id?: string;
  from: string;
  messages: JsonObject[];
  /** Chosen by the sender. */
  dialect?: string;
  failFast: boolean;
  deadlineSeconds: number;
  trace: Trace;
}

interface CreateBatchResult {
  duplicate: boolean;
  batch: Batch;
  /** Warnings about accepted requests. */
  notices?: string[];
}

/** Accepts all requests or none. Items are created before this resolves or, after a crash, by the timer. */
export const createBatch = async (deps: Deps, caller: Caller, wanted: NewBatch): Promise<CreateBatchResult> => {
  const { from, messages, failFast, deadlineSeconds, trace } = wanted;
  const { project } = caller;
  const repeated = messages.map((message) => omitMessageStamps(message, wanted.dialect));
  const fingerprint = computeFingerprint([from, repeated, failFast, deadlineSeconds]);
  if (wanted.id !== undefined) assertNotReserved('A batch', wanted.id);
  const id = wanted.id ?? uuidFromSeed(['batch', fingerprint]);
  const ref = batchRef(project, id);
  const earlier = await deps.records.get(ref);
  if (earlier) return resumeDuplicateBatch(deps, earlier, fingerprint);
  const { pendingRequests, issues } = toPendingRequests(wanted, id);
  issues.push(...(await checkRequests(deps, caller, { from, trace }, pendingRequests, formatItemPath)));
  if (issues.length > 0) throw rejectedRequestsError('The batch', issues);
  const asked = pendingRequests.map((pending) => toRequestedItem(deps, { project, from, trace }, pending));
  assertUniqueItems(asked.map(({ item, name }) => `${item.kind} ${name}`));
  assertIndependentItems(asked);
  const parts = asked.map(({ item }) => item);
  const whole = await Promise.all(
    pendingRequests.map((pending, n) =>
      asked[n]?.request ? withResolvedReferences(deps, caller, from, pending) : pending,
    ),
  );
  const content = await storeContent(deps, project, id, measureJson(whole));
  const requester = await findAgent(deps, project, from);
  const now = deps.clock.now();
  const deadline = now + deadlineSeconds * 1000;
  const made = await deps.records.create<Batch>(
    {
      ...ref,
      sk: 'batch',
      project,
      id,
      from,
      status: 'open',
      items: parts,
      openItems: Object.fromEntries(parts.map((_, n) => [n, true])),
      openCount: parts.length,
      itemEnds: {},
      failFast,
      deadline,
      pendingRequests: content,
      fingerprint,
      createdAt: now,
      ...pickCallTrace(trace),
      requesterLogDialect: requester && getAuditDialect(deps.config, requester.agent),
      due: Math.min(deadline, now + CREATE_RETRY_MS),
      ...(requester?.agent.transport === 'nats'
        ? { deliveryTarget: 'nats' }
        : { byList: { pk: inboxPk(project, from) } }),
    },
    deps.newId(),
  );
  if (made.outcome === 'written') {
    const notices = await createBatchItems(deps, made.after);
    const ids = parts.map((part) => part.id);
    return { duplicate: false, batch: made.after, notices: formatNotices(notices, 'tasks', ids) };
  }
  await deleteOrphans(deps.blobs, [content], [made.existing?.pendingRequests]);
  if (!made.existing) throw new ParleyError('conflict', `The batch ${id} is no longer kept. Try again.`);
  return resumeDuplicateBatch(deps, made.existing, fingerprint);
};

/** The item of a message, and its id in the words of the sender. */
interface RequestedItem {
  item: BatchItem;
  name: string;
  request?: TaskRequestCommand;
}

const toRequestedItem = (deps: Deps, submitter: Submitter, pending: PendingRequest): RequestedItem => {
  const turn = parseBatchTurn(deps, submitter, pending);
  if (turn) return { item: { kind: 'turn', id: turn.id }, name: turn.correlation };
  const request = toRequest(deps, submitter.from, pending);
  return { item: { kind: 'task', id: request.taskId }, name: request.taskId, request };
};

/** Unrecognised messages are rejected later. */
const omitMessageStamps = (message: JsonObject, named: string | undefined): JsonObject => {
  const dialect = DIALECTS.find((candidate) =>
    named === undefined ? candidate.isRecognized(message) : candidate.name === named,
  );
  return dialect?.omitStamps?.(message) ?? message;
};

const formatItemPath = ({ batchMembership }: PendingRequest): string => `tasks[${batchMembership?.index}]`;

/** Unrecognised messages are errors. */
const toPendingRequests = (
  { messages, dialect }: NewBatch,
  batch: string,
): { pendingRequests: PendingRequest[]; issues: RequestIssue[] } => {
  const pendingRequests: PendingRequest[] = [];
  const issues: RequestIssue[] = [];
  for (const [child, message] of messages.entries()) {
    const batchMembership = { batchId: batch, index: child };
    try {
      pendingRequests.push({ dialect: resolveDialect(message, dialect).name, message, batchMembership });
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      issues.push({ path: `tasks[${child}]`, error });
    }
  }
  return { pendingRequests, issues };
};

const assertUniqueItems = (names: string[]): void => {
  const issues = names.flatMap((name, child): RequestIssue[] =>
    names.indexOf(name) < child
      ? [{ path: `tasks[${child}]`, error: new ParleyError('id_reused', `The ${name} is in the batch already.`) }]
      : [],
  );
  if (issues.length > 0) throw rejectedRequestsError('The batch', issues);
};

/** Items have no order. */
const assertIndependentItems = (asked: RequestedItem[]): void => {
  const names = new Set(asked.flatMap(({ name, request }) => [name, request?.givenId]));
  const issues = asked.flatMap(({ request }, child): RequestIssue[] => {
    const own = [...(request?.dependencyIds ?? []), ...(request?.dependencyShortIds ?? [])].find((name) =>
      names.has(name),
    );
    const why = `It waits for ${own} of the same batch, whose tasks run side by side. POST /v1/graphs takes tasks that wait for each other.`;
    return own === undefined ? [] : [{ path: `tasks[${child}]`, error: new ParleyError('unknown_dependency', why) }];
  });
  if (issues.length > 0) throw rejectedRequestsError('The batch', issues);
};

const resumeDuplicateBatch = async (deps: Deps, batch: Batch, fingerprint: string): Promise<CreateBatchResult> => {
  assertSameRequest(batch, fingerprint, `batch with the id ${batch.id}`);
  await createBatchItems(deps, batch);
  return { duplicate: true, batch };
};
