import { getAuditDialect } from '../../dialects/is-audited.ts';
import { canServe, listServedDomains, listWholeDomains, type RegisteredAgent } from '../../identity/agents/agent.ts';
import { getActivePause } from '../../identity/agents/agent-control.ts';
import type { Deps } from '../../identity/deps.ts';
import type { ParleyError } from '../../kernel/errors.ts';
import type { Json } from '../../kernel/json/json.ts';
import { assertMaxSize, type MeasuredJson, measureJson } from '../../kernel/json/measure-json.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import type { Artifact } from '../../model/artifact.ts';
import type { TaskReport } from '../../model/command.ts';
import { getDedupRound, isAssigned, type ProcessedMessage, type Task, taskRef } from '../../model/task.ts';
import { type Change, notEquals, notExists } from '../../ports/conditions.ts';
import { deleteOrphans, isStoredAsBlob, storeContent, withBlobCleanup } from '../../storage/content.ts';
import { listOutputContents, pickExtraFields, type StoredOutput, storeArtifacts } from '../artifacts.ts';
import { canReadTask } from '../queries/can-read-task.ts';
import {
  type Actor,
  buildCompleteTransition,
  buildRenewTransition,
  claimByMessage,
  claimThen,
  failAsHolder,
  type HolderMessage,
  recordClaimNote,
  recordProgress,
  requestInput,
} from '../transitions/holder-transitions.ts';
import {
  type AlternativeHolders,
  buildHolderReleaseChange,
  buildReassignChange,
  findAlternativeHolders,
  isDecline,
} from '../transitions/reassign-task.ts';
import { applyTo, toConditionalUpdate } from '../transitions/rules.ts';
import { assertReadableSchema } from './answer-schema.ts';
import { taskNotFoundError, updateTask } from './update-task.ts';

/** What an agent says about a task: that it takes it, how far it is, how it ended. Each message counts once. */
export const applyReport = async (
  deps: Deps,
  sender: RegisteredAgent,
  message: TaskReport,
  calledId = message.taskId,
): Promise<{ duplicate: boolean }> => {
  const { agent } = sender;
  const by = toActor(deps, sender);
  if (message.kind === 'ask') await assertReadableSchema(message.prompt.schema);
  assertMaxSize('What the message carries', pickRecordFields(message), deps.config.limits.extensionBytes);
  const output =
    message.kind === 'complete'
      ? assertMaxSize('The result', message.output, deps.config.limits.outputBytes)
      : undefined;
  let duplicate = false;
  const judging =
    ({ resolve }: ReportPlan) =>
    (task: Task): Change | ParleyError | 'unchanged' => {
      if (!canReportOn(sender, task)) return taskNotFoundError(calledId);
      duplicate = isDuplicateReport(task, message);
      return duplicate ? renewOnDuplicate(task, by, message) : resolve(task);
    };
  const artifacts = message.kind === 'complete' ? message.artifacts : undefined;
  if ((output && isStoredAsBlob(output)) || (artifacts && isStoredAsBlob(measureJson(artifacts)))) {
    // Anybody may report on any task: what is large is stored only where it would be taken as things are.
    const task = await deps.records.get(taskRef(agent.project, message.taskId));
    const judged = task ? judging(planReport(message, by))(task) : taskNotFoundError(message.taskId);
    if (judged instanceof Error) throw judged;
    if (duplicate) return { duplicate };
  }
  const stored = output && (await storeOutput(deps, agent.project, message.taskId, output, artifacts));
  const contents = stored ? listOutputContents(stored) : [];
  const planned = planReport(message, by, {
    stored,
    alternatives: await findAlternativesForDecline(deps, sender, message),
  });
  const done = await withBlobCleanup(deps.blobs, contents, () =>
    updateTask(deps, agent.project, message.taskId, planned.optimisticChange, judging(planned)),
  );
  if (done.outcome === 'unchanged') await deleteOrphans(deps.blobs, contents, listOutputContents(done.record));
  return { duplicate };
};

/** Who could never have held the task does not learn that it is there. Who held it once is told that it holds it no more. */
export const canReportOn = (known: RegisteredAgent, task: Task): boolean => {
  const { project } = known.agent;
  const isOfItsDomain = task.domain !== undefined && listServedDomains(known).includes(task.domain);
  return isOfItsDomain || canServe(known, task) || canReadTask({ project, role: 'agent', registered: known }, task);
};

export const toActor = (deps: Deps, known: RegisteredAgent): Actor => ({
  agent: known.agent.id,
  domains: listWholeDomains(known.agent),
  capabilities: known.agent.capabilities,
  pause: getActivePause(known, deps.clock.now()),
  holderLogDialect: getAuditDialect(deps.config, known.agent),
  now: deps.clock.now(),
  limits: deps.config.tasks,
});

/** What a report needs that is not in the task itself. */
interface ReportInputs {
  stored?: StoredOutput;
  /** Who can do what its holder says it cannot. */
  alternatives?: AlternativeHolders;
}

const findAlternativesForDecline = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  message: TaskReport,
): Promise<AlternativeHolders | undefined> => {
  if (message.kind !== 'fail' || !isDecline(message.error)) return undefined;
  const task = await deps.records.get(taskRef(agent.project, message.taskId));
  return task && findAlternativeHolders(deps, task, agent.id);
};

interface ReportPlan {
  /** What is tried without a look at the task, where that can be said beforehand. */
  optimisticChange?: Change;
  resolve: (task: Task) => Change | ParleyError | 'unchanged';
}

const planReport = (message: TaskReport, by: Actor, { stored, alternatives }: ReportInputs = {}): ReportPlan => {
  const seen: ProcessedMessage = { id: message.messageId, fingerprint: message.fingerprint };
  const { isIdentifiedByContent, attempt, sequenceInfo } = message;
  const auditEntry: HolderMessage = {
    processedMessage: seen,
    isIdentifiedByContent,
    attempt,
    auditEntry: message.auditEntry,
    sequenceInfo,
  };
  switch (message.kind) {
    case 'claim':
      return {
        resolve: (task) => {
          if (task.holder !== by.agent || task.endedAt !== undefined) {
            return isCompletedByAgent(task, by.agent) ? 'unchanged' : claimByMessage(task, by, auditEntry, message);
          }
          return task.claimNote === undefined ? recordClaimNote(task, by, auditEntry, message) : 'unchanged';
        },
      };
    case 'progress':
      return {
        resolve: (task) =>
          recordProgress(task, by, auditEntry, { ...message.progress, auditEntry: message.auditEntry, at: by.now }),
      };
    case 'complete': {
      const completed = buildCompleteTransition(
        by,
        auditEntry,
        stored?.output ?? { json: message.output },
        message.extensions,
        {
          artifacts: stored?.artifacts,
          confidence: message.confidence,
        },
      );
      // Only where the id cannot be that of an earlier message about the task.
      const optimisticChange = toConditionalUpdate(
        completed,
        notExists('processedMessages'),
        notEquals('claimMessage.id', message.messageId),
      );
      return { optimisticChange, resolve: (task) => claimThen(task, by, () => completed) };
    }
    case 'fail':
      return {
        resolve: (task) => {
          if (message.release) return buildHolderReleaseChange(task, by, auditEntry);
          return alternatives
            ? buildReassignChange(task, by, auditEntry, message.error, alternatives)
            : failAsHolder(task, by, auditEntry, message.error, message.extensions);
        },
      };
    case 'ask':
      return { resolve: (task) => requestInput(task, by, auditEntry, message.prompt) };
  }
};

/** It says late that it took what it has completed since. */
const isCompletedByAgent = ({ status, holder }: Task, agent: string): boolean =>
  status === 'completed' && holder === agent;

const storeOutput = async (
  deps: Deps,
  project: string,
  taskId: string,
  said: MeasuredJson<Json>,
  files: Artifact[] | undefined,
): Promise<StoredOutput> => {
  const [output, artifacts] = await Promise.all([
    storeContent(deps, project, taskId, said),
    files && storeArtifacts(deps, project, taskId, files),
  ]);
  return { output, artifacts };
};

/** What is kept in the record itself. */
const pickRecordFields = (message: TaskReport): unknown => {
  if (message.kind === 'claim') return message.claimNote;
  if (message.kind === 'ask') return message.prompt;
  if (message.kind === 'progress') return message.progress;
  return message.kind === 'complete'
    ? [message.extensions, message.artifacts?.map(pickExtraFields)]
    : message.extensions;
};

/** The very same message once more. The same id with other content is a mistake. */
const isDuplicateReport = (task: Task, message: TaskReport): boolean => {
  const known = [task.claimMessage, task.endMessage, ...(task.processedMessages ?? [])].findLast(
    (seen) => seen?.id === message.messageId,
  );
  if (!known || isFromEarlierRound(task, known, message)) return false;
  assertSameMessage(known, message);
  return true;
};

/** Who holds the task in a later round than that of its words means them anew. From anybody else they come late, or twice. */
const isFromEarlierRound = (task: Task, { round }: ProcessedMessage, { from }: TaskReport): boolean =>
  round !== undefined && round < getDedupRound(task) && isAssigned(task) && task.holder === from;

/** Who says the same words again to show that it is alive has no other way to say it. */
const renewOnDuplicate = (task: Task, by: Actor, { kind, isIdentifiedByContent }: TaskReport): Change | 'unchanged' => {
  const renewed =
    kind === 'progress' && isIdentifiedByContent
      ? applyTo(task, buildRenewTransition(by, undefined, task))
      : 'unchanged';
  return renewed instanceof Error ? 'unchanged' : renewed;
};
