import { getAuditDialect } from '../../dialects/is-audited.ts';
import { getAgentDialect } from '../../dialects/registry.ts';
import {
  type Agent,
  canServe,
  listServedDomains,
  listWholeDomains,
  type RegisteredAgent,
} from '../../identity/agents/agent.ts';
import { getActivePause } from '../../identity/agents/agent-control.ts';
import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { getLimitRules, resolveLimits } from '../../identity/limit-rules.ts';
import { getPausedQueues } from '../../identity/queue-pauses.ts';
import { awaitAll } from '../../kernel/concurrency.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { toShortId } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { assertMaxSize, type Json, type MeasuredJson, measureJson } from '../../kernel/json/json.ts';
import { assertReadableSchema } from '../../kernel/json/schema-checker.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import type { Artifact, StoredArtifacts } from '../../model/artifact.ts';
import type { AskMessage, TaskReport } from '../../model/command.ts';
import { getDedupRound, isAssigned, type ProcessedMessage, type Task, taskRef } from '../../model/task.ts';
import { type Change, mergeChanges } from '../../ports/conditions.ts';
import {
  deleteOrphans,
  isStoredAsBlob,
  listBlobKeys,
  type StoredContent,
  storeContent,
  withBlobCleanup,
} from '../../storage/content.ts';
import type { UpdateResult } from '../../storage/update-with-retry.ts';
import { putQuestionId } from '../ids/question-ids.ts';
import { listOutputContents, pickExtraFields, type StoredOutput } from '../output-contents.ts';
import { canReadTask } from '../queries/can-read-task.ts';
import { type Actor, buildRenewTransition, isClaimOf } from '../transitions/holder-transitions.ts';
import { type AlternativeHolders, findAlternativeHolders, isDecline } from '../transitions/reassign-task.ts';
import { applyTo } from '../transitions/rules.ts';
import { assertOutputFits, hasOutputSchemas } from './capability-schemas.ts';
import { isUnheldByRequester, planReport, type ReportPlan } from './report-plan.ts';
import { taskNotFoundError, updateTask } from './update-task.ts';

/** More concurrent reports of one holder are no accident. */
const MAX_TRIES = 3;

interface ReportResult {
  duplicate: boolean;
  /** After the write. */
  task?: Task;
}

/** Applies a report of an agent on a task: claim, progress, end or question. Each message counts once. */
export const applyReport = async (
  deps: Deps,
  sender: RegisteredAgent,
  message: TaskReport,
  calledId = message.taskId,
): Promise<ReportResult> => {
  const { project } = sender.agent;
  const { taskId, artifacts } = message;
  const pausedQueues = message.kind === 'claim' ? await getPausedQueues(deps, project) : undefined;
  const by = { ...toActor(deps, sender), pausedQueues };
  if (message.kind === 'ask') await prepareQuestion(deps, sender.agent, message);
  assertMaxSize('What the message carries', pickRecordFields(message), deps.config.limits.extensionBytes);
  const output =
    message.kind === 'complete'
      ? assertMaxSize('The result', message.output, deps.config.limits.outputBytes)
      : undefined;
  let duplicate = false;
  /** The artifacts that the stored ones are merged with. */
  let earlier: StoredArtifacts | undefined;
  let isStale = false;
  const rules = await getLimitRules(deps, project);
  let claimsPlace = false;
  const judge =
    ({ resolve }: ReportPlan, stored: StoredOutput = {}) =>
    (task: Task): Change | ParleyError | 'unchanged' => {
      if (!canReportOn(sender, task)) return taskNotFoundError(calledId);
      duplicate = isDuplicateReport(task, message);
      if (duplicate) return renewOnDuplicate(task, by, message);
      const change = resolve(task);
      if (!artifacts || change instanceof Error || change === 'unchanged' || isUnheldByRequester(task, by.agent))
        return change;
      const current = isAssigned(task) ? task.artifacts : undefined;
      isStale = computeFingerprint([current]) !== computeFingerprint([earlier]);
      earlier = current;
      return isStale ? 'unchanged' : mergeChanges(change, { set: { artifacts: stored.artifacts } });
    };
  /** A task with limits is claimed together with its places. */
  const judgeUnlimited =
    (judged: ReturnType<typeof judge>) =>
    (task: Task): Change | ParleyError | 'unchanged' => {
      const change = judged(task);
      claimsPlace = isClaimOf(task, change) && resolveLimits(task, rules).length > 0;
      return claimsPlace ? 'unchanged' : change;
    };
  const isChecked = output !== undefined && hasOutputSchemas(sender.agent);
  if (isChecked || (output && isStoredAsBlob(output)) || (artifacts && isStoredAsBlob(measureJson(artifacts)))) {
    // Anybody may report on any task, so large content is stored only if the report would be accepted.
    const task = await deps.records.get(taskRef(project, taskId));
    const judged = task ? judge(planReport(message, by))(task) : taskNotFoundError(taskId);
    if (judged instanceof Error) throw judged;
    if (duplicate) return { duplicate };
    if (isChecked && task) await assertOutputFits(sender.agent, task, output.value);
  }
  const alternatives = await findAlternativesForDecline(deps, sender, message);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    isStale = false;
    const stored = await storeOutput(deps, project, taskId, { output, artifacts, earlier });
    const contents = listNewContents(stored, earlier);
    const plan = planReport(message, by, { stored, alternatives });
    const judged = judge(plan, stored);
    const done = await withBlobCleanup(deps.blobs, contents, async () => {
      const change = withArtifacts(plan.optimisticChange, stored);
      const updated = await updateTask(deps, project, taskId, change, judgeUnlimited(judged));
      return claimsPlace ? await claimWithReport(deps, updated, judged) : updated;
    });
    if (done.outcome === 'unchanged') await deleteOrphans(deps.blobs, contents, listOutputContents(done.record));
    if (!isStale) return { duplicate, task: done.outcome === 'changed' ? done.after : done.record };
  }
  throw new ParleyError('conflict', `The artifacts of the task ${calledId} change all the time. Try again.`);
};

/** Refused where the limits have no place for the task. */
const claimWithReport = async (
  deps: Deps,
  unclaimed: UpdateResult<Task>,
  judge: (task: Task) => Change | ParleyError | 'unchanged',
): Promise<UpdateResult<Task>> => {
  const { claimLimited, limitReachedError } = await import('../limits/claim-limited.ts');
  const { project, id } = unclaimed.outcome === 'changed' ? unclaimed.after : unclaimed.record;
  const done = await claimLimited(deps, project, id, judge);
  if (done.outcome === 'blocked') throw limitReachedError({ id }, done.block);
  return done;
};

const withArtifacts = (change: Change | undefined, { artifacts }: StoredOutput): Change | undefined =>
  change && artifacts ? mergeChanges(change, { set: { artifacts } }) : change;

/** A reply names the question instead of the task. */
const prepareQuestion = async (
  deps: Deps,
  { project, id: holder }: Agent,
  { taskId, messageId, prompt }: AskMessage,
): Promise<void> => {
  await assertReadableSchema(prompt.schema, 'input.schema', 'invalid_message');
  const task = await deps.records.get(taskRef(project, taskId));
  const requester = task && (await findAgent(deps, project, task.from));
  const dialect = requester && getAgentDialect(requester.agent);
  if (!task || !dialect?.answersByReply) return;
  const id = dialect.usesShortIds ? toShortId(messageId) : messageId;
  await putQuestionId(deps, project, { requester: task.from, holder, id }, task.id);
};

/** Others do not learn that the task exists. A former holder learns that it lost the task. */
export const canReportOn = (known: RegisteredAgent, task: Task): boolean => {
  const { project } = known.agent;
  const isOfItsDomain = task.domain !== undefined && listServedDomains(known).includes(task.domain);
  return isOfItsDomain || canServe(known, task) || canReadTask({ project, role: 'agent', registered: known }, task);
};

export const toActor = (deps: Deps, registered: RegisteredAgent): Actor => ({
  agent: registered.agent.id,
  domains: listWholeDomains(registered.agent),
  capabilities: registered.agent.capabilities,
  pause: getActivePause(registered, deps.clock.now()),
  holderLogDialect: getAuditDialect(deps.config, registered.agent),
  now: deps.clock.now(),
  limits: deps.config.tasks,
});

const findAlternativesForDecline = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  message: TaskReport,
): Promise<AlternativeHolders | undefined> => {
  if (message.kind !== 'fail' || !(message.isDecline || isDecline(message.error))) return undefined;
  const task = await deps.records.get(taskRef(agent.project, message.taskId));
  return task && findAlternativeHolders(deps, task, agent.id);
};

interface ReportedOutput {
  output?: MeasuredJson<Json>;
  artifacts?: Artifact[];
  earlier?: StoredArtifacts;
}

const storeOutput = async (
  deps: Deps,
  project: string,
  taskId: string,
  reported: ReportedOutput,
): Promise<StoredOutput> => {
  const [output, artifacts] = await awaitAll([
    reported.output && storeContent(deps, project, taskId, reported.output),
    reported.artifacts &&
      (await import('../artifacts.ts')).storeArtifacts(deps, project, taskId, reported.artifacts, reported.earlier),
  ]);
  return { output, artifacts };
};

const listNewContents = (stored: StoredOutput, earlier: StoredArtifacts | undefined): (StoredContent | undefined)[] => {
  const known = listBlobKeys(listOutputContents({ artifacts: earlier }));
  return listOutputContents(stored).filter((content) => content && 'blob' in content && !known.includes(content.blob));
};

const pickRecordFields = (message: TaskReport): unknown => [
  pickStoredFields(message),
  message.artifacts?.map(pickExtraFields),
];

const pickStoredFields = (message: TaskReport): unknown => {
  if (message.kind === 'claim') return message.claimNote;
  if (message.kind === 'ask') return [message.prompt, message.extensions, message.progress];
  return message.kind === 'progress' ? message.progress : message.extensions;
};

/** A repetition. Other content under the same id is an error. */
const isDuplicateReport = (task: Task, message: TaskReport): boolean => {
  if (message.kind === 'cancel' && task.status === 'cancelled' && task.cancelledBy === message.from) return true;
  const known = [task.claimMessage, task.endMessage, ...(task.processedMessages ?? [])].findLast(
    (seen) => seen?.id === message.messageId,
  );
  if (!known || isFromEarlierRound(task, known, message)) return false;
  assertSameMessage(known, message);
  return true;
};

/** From the holder of a later round, the same content is a new message. From anybody else it is late or a duplicate. */
const isFromEarlierRound = (task: Task, { round }: ProcessedMessage, { from }: TaskReport): boolean =>
  round !== undefined && round < getDedupRound(task) && isAssigned(task) && task.holder === from;

/** For holders whose only sign of life is the same message again. */
const renewOnDuplicate = (task: Task, by: Actor, { kind, isIdentifiedByContent }: TaskReport): Change | 'unchanged' => {
  const renewed =
    kind === 'progress' && isIdentifiedByContent
      ? applyTo(task, buildRenewTransition(by, undefined, task))
      : 'unchanged';
  return renewed instanceof Error ? 'unchanged' : renewed;
};
