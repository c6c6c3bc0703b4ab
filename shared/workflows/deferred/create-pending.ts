import { parseBatchTurn } from '../../adapters/parse-batch-turn.ts';
import { getDialect } from '../../dialects/registry.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { withAuditEntry } from '../../ingest/ingest-message.ts';
import { resolveRequestReferences } from '../../ingest/resolve-references.ts';
import { type Issue, isPermanent, ParleyError } from '../../kernel/errors.ts';
import { assertNotReserved } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { assertMaxSize } from '../../kernel/json/json.ts';
import { MAX_ISSUES } from '../../kernel/json/parse-or-throw.ts';
import { idReusedError } from '../../kernel/same-request.ts';
import { recordSequence } from '../../messaging/sequences/sequence.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import {
  type PendingRequest,
  PendingRequests,
  type RequestIssue,
  type Submitter,
} from '../../model/pending-request.ts';
import { taskRef } from '../../model/task.ts';
import { loadContent, type StoredContent } from '../../storage/content.ts';
import { checkInput } from '../../tasks/commands/capability-schemas.ts';
import { assertInputSize, createTask } from '../../tasks/commands/create-task.ts';
import { deduplicate, findPrior } from '../../tasks/commands/deduplicate.ts';
import { resolveDestination } from '../../tasks/commands/resolve-destination.ts';
import { resolveLineage } from '../../tasks/dependencies/lineage.ts';
import { enqueueTurn, prepareEnqueue } from '../../turns/lifecycle/enqueue.ts';

/** When to continue after a crash. */
export const CREATE_RETRY_MS = 30_000;

/** Its fingerprint includes the batch or graph: the same message alone is another request. */
export const toRequest = (
  deps: Deps,
  from: string,
  { dialect, message, graph, ...rest }: PendingRequest,
): TaskRequestCommand => {
  const ownDialect = getDialect(dialect);
  const command = withAuditEntry(deps, ownDialect, message, ownDialect.decode(message, deps.config, from));
  if (command.kind !== 'request') throw new ParleyError('invalid_message', 'Only requests can be asked for here.');
  return { ...command, ...rest, graph, fingerprint: computeFingerprint([command.fingerprint, graph, rest]) };
};

/** References are resolved again whenever the task is created. */
export const withResolvedReferences = async (
  deps: Deps,
  caller: Caller,
  from: string,
  pending: PendingRequest,
): Promise<PendingRequest> => {
  const { dependencyIds, parent } = await resolveRequestReferences(deps, caller, toRequest(deps, from, pending));
  return { ...pending, ...(dependencyIds && { dependencyIds }), ...(parent !== undefined && { parent }) };
};

/** All errors of the requests that can be found before their tasks are created. */
export const checkRequests = async (
  deps: Deps,
  caller: Caller,
  asked: Omit<Submitter, 'project'>,
  pendingRequests: PendingRequest[],
  pathOf: (pending: PendingRequest, at: number) => string,
): Promise<RequestIssue[]> => {
  const errors = await Promise.all(
    pendingRequests.map(async (pending) => {
      try {
        const turn = parseBatchTurn(deps, { ...asked, project: caller.project }, pending);
        if (!turn) return await checkRequest(deps, caller, asked.from, toRequest(deps, asked.from, pending));
        await prepareEnqueue(deps, caller, turn);
        return undefined;
      } catch (error) {
        if (isPermanent(error)) return error;
        throw error;
      }
    }),
  );
  return pendingRequests.flatMap((pending, at) => {
    const error = errors[at];
    return error ? [{ path: pathOf(pending, at), error }] : [];
  });
};

const checkRequest = async (
  deps: Deps,
  caller: Caller,
  from: string,
  request: TaskRequestCommand,
): Promise<ParleyError | undefined> => {
  if (request.from !== from) return new ParleyError('from_mismatch', `It is from ${request.from}, not from ${from}.`);
  if (!request.sequenceInfo) assertNotReserved('A task', request.taskId);
  assertInputSize(deps, request);
  const unable = await checkDestination(deps, caller, request);
  if (unable) return unable;
  await findPrior(deps, caller.project, request);
  const there = await deps.records.get(taskRef(caller.project, request.taskId));
  if (!there || there.fingerprint === request.fingerprint) return undefined;
  return idReusedError(`request with the id ${request.taskId}`);
};

/** Unless it is already completed. */
const checkDestination = async (
  deps: Deps,
  caller: Caller,
  request: TaskRequestCommand,
): Promise<ParleyError | undefined> => {
  if (request.completed) {
    assertMaxSize('The result', request.completed.output, deps.config.limits.outputBytes);
    return undefined;
  }
  const destination = await resolveDestination(deps, caller.project, request);
  if (destination instanceof Error) return destination;
  const { addressee } = destination;
  const misfit = addressee && (await checkInput(addressee, request.capability, request.input));
  if (misfit) return misfit;
  const lineage = await resolveLineage(deps, caller, request);
  return lineage instanceof Error ? lineage : undefined;
};

/** One error with the code of the first and an issue for each. */
export const rejectedRequestsError = (what: string, wrong: RequestIssue[]): ParleyError => {
  const [first] = wrong;
  const issues = wrong
    .flatMap(({ path, error }): Issue[] =>
      error.issues?.length
        ? error.issues.map((issue) => ({ path: `${path}.${issue.path}`, message: issue.message }))
        : [{ path, message: error.message }],
    )
    .slice(0, MAX_ISSUES);
  const paths = wrong
    .slice(0, MAX_ISSUES)
    .map(({ path }) => path)
    .join(', ');
  return new ParleyError(first?.error.code ?? 'invalid_request', `${what} cannot be accepted: ${paths}.`, {
    issues,
    details: first?.error.details,
  });
};

interface RejectedRequest {
  id: string;
  pending: PendingRequest;
  error: ParleyError;
}

/** Warnings by task id. */
export type Notices = Map<string, string[]>;

interface CreatePendingResult {
  rejected: RejectedRequest[];
  notices: Notices;
}

/**
 * Idempotent: creates tasks and turns, each after its dependencies. Rejections become results; other errors are
 * thrown, and the timer continues.
 */
export const createPending = async (
  deps: Deps,
  submitter: Submitter,
  kept: StoredContent,
): Promise<CreatePendingResult> => {
  const pendingRequests = PendingRequests.parse(await loadContent(deps.blobs, submitter.project, kept));
  const refused: RejectedRequest[] = [];
  const notices: Notices = new Map();
  const sown = new Map<string, Promise<void>>();
  for (const pending of pendingRequests) {
    const { id, dependencyIds, create } = toPendingItem(deps, submitter, pending);
    const earlier = dependencyIds.flatMap((other) => sown.get(other) ?? []);
    const made = Promise.all(earlier).then(async () => {
      try {
        const given = await create();
        if (given) notices.set(id, given);
      } catch (error) {
        if (!isPermanent(error)) throw error;
        refused.push({ id, pending, error });
      }
    });
    sown.set(id, made);
  }
  const outcomes = await Promise.allSettled(sown.values());
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) throw failure.reason;
  return { rejected: refused, notices };
};

/** Each with the index of its task in the request; undefined without notices. */
export const formatNotices = (notices: Notices, list: string, ids: string[]): string[] | undefined => {
  const given = ids.flatMap((id, at) => (notices.get(id) ?? []).map((notice) => `${list}[${at}]: ${notice}`));
  return given.length > 0 ? given : undefined;
};

interface PendingItem {
  id: string;
  dependencyIds: string[];
  /** Resolves to warnings. */
  create: () => Promise<string[] | undefined>;
}

const toPendingItem = (deps: Deps, submitter: Submitter, pending: PendingRequest): PendingItem => {
  const { project, from, trace } = submitter;
  // Access was checked when it was accepted.
  const anybody: Caller = { project, role: 'admin' };
  const turn = parseBatchTurn(deps, submitter, pending);
  if (turn) {
    const make = async () => {
      await enqueueTurn(deps, anybody, turn);
      return undefined;
    };
    return { id: turn.id, dependencyIds: [], create: make };
  }
  const request = toRequest(deps, from, pending);
  const make = async () => {
    const { duplicate, notices } = await deduplicate(deps, project, request, () =>
      createTask(deps, anybody, pending.dialect, request, trace),
    );
    if (request.sequenceInfo) await recordSequence(deps, project, request, duplicate);
    return notices;
  };
  return { id: request.taskId, dependencyIds: request.dependencyIds ?? [], create: make };
};
