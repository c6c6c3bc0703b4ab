import { SYSTEM_SENDER, toShortId } from '../../kernel/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import { formatExpiry, isCancelled, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import { getDelegationChain, type ReportedTask, type Task } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import type { Priority } from '../../ports/queues.ts';
import { MESSAGE_ROUTING, MESSAGE_ROUTING_VERSION } from './decode.ts';
import { PRIORITY_NUMBERS } from './priorities.ts';
import { truncateMessage } from './truncate.ts';

export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => {
  const said = pickOwnExtensions(task.extensions);
  const envelope = buildEnvelope(said, {
    id: task.id,
    from: task.from,
    to: task.to ?? task.holder ?? SYSTEM_SENDER,
    at: task.createdAt,
    type: 'task-delegation',
    correlation: task.parent,
    priority: task.priority,
  });
  if (isOwnEnvelope(said)) {
    const payload = addParleyFields(input, { lastError: task.error && { ...task.error } });
    return { ...envelope, payload: results && isJsonObject(payload) ? { ...payload, results } : payload };
  }
  const deadline = toIso(task.deadline);
  const payload = {
    task: task.capability,
    context: { files: [], dependencies: [], deadline },
    metadata: { original_requester: getDelegationChain(task)[0] },
    ...(results && { results }),
    parley: {
      input,
      ...pickForeignExtensions(task.extensions),
      chain: task.delegationChain,
      retry: task.retry && { ...task.retry },
      lastError: task.error && { ...task.error },
    },
  };
  return truncateMessage({ ...envelope, payload }, `/v1/tasks/${task.id}`);
};

export const encodeReport = (task: ReportedTask): JsonObject => {
  const { percent, message, subTasks, blockers, confidence, extensions = {} } = task.progress ?? {};
  const { payload, ...said } = pickOwnExtensions(extensions);
  const { failedAttempt, progress, claimNote } = task;
  // Whoever counts its messages has sent none: that it has the task, or failed, is told by Parley.
  const isSaid = progress !== undefined || claimNote !== undefined;
  const envelope = buildEnvelope(said, {
    id: task.reportId ?? task.processedMessages?.at(-1)?.id ?? `${task.id}#${task.v}`,
    from: (isSaid && task.holder) || SYSTEM_SENDER,
    to: task.from,
    at: task.at,
    type: 'status-update',
    correlation: task.id,
    priority: task.priority,
  });
  if (payload !== undefined) return { ...envelope, payload };
  const made = {
    status: blockers ? 'blocked' : 'in_progress',
    progress: percent === undefined ? 0 : percent / 100,
    message: message ?? toStringOrUndefined(claimNote?.message) ?? formatStep(task),
    confidence,
    blockers: blockers ?? [],
    parley: omitIfEmpty({
      subTasks,
      claim: claimNote,
      agent: isSaid ? undefined : (failedAttempt?.agent ?? task.holder),
      attempt: isSaid ? undefined : task.attempt,
      error: failedAttempt && { ...failedAttempt },
      ...pickForeignExtensions(extensions),
    }),
  };
  return truncateMessage({ ...envelope, payload: made }, `/v1/tasks/${task.id}`);
};

const formatStep = ({ failedAttempt, holder, progress, attempt }: ReportedTask): string => {
  if (progress) return '';
  if (!failedAttempt) return `${holder} has claimed the task.`;
  return `Attempt ${attempt} failed, and the task is tried again: ${failedAttempt.message}`;
};

export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { task, status } = outcome;
  const extensions = outcome.from === SYSTEM_SENDER ? {} : outcome.extensions;
  const { payload, isPartial: _isPartial, ...said } = pickOwnExtensions(extensions);
  const isDialogue = status === 'input_required' || status === 'claimed';
  const envelope = buildEnvelope(said, {
    id: outcome.id,
    from: outcome.from,
    to: outcome.to,
    at: outcome.happenedAt,
    type: toStringOrUndefined(said.type) ?? (isDialogue ? 'status-update' : 'result'),
    correlation: task.id,
    priority: task.priority,
  });
  if (isOwnEnvelope(said)) {
    const given = status === 'completed' ? output : payload;
    return { ...envelope, payload: addParleyFields(given ?? {}, { artifacts }) };
  }
  const made = isDialogue ? buildDialoguePayload(outcome) : buildEndPayload(outcome, output, artifacts);
  const parley = omitIfEmpty({ ...made.parley, ...pickForeignExtensions(extensions) });
  return truncateMessage({ ...envelope, payload: { ...made, parley } }, `/v1/tasks/${task.id}`);
};

/** A payload in this dialect's words, and what it has no words for. */
type TranslatedPayload = JsonObject & { parley: JsonObject };

/** Who asks is blocked until it is answered. */
const buildDialoguePayload = ({ status, prompt = {}, answer }: TaskOutcome): TranslatedPayload => ({
  status: status === 'claimed' ? 'in_progress' : 'blocked',
  message: status === 'claimed' ? formatAnswer(answer) : prompt.prompt,
  blockers: status === 'claimed' ? [] : [prompt.prompt ?? ''],
  parley: { status: status === 'claimed' ? 'input_given' : status, input: { ...prompt, answer } },
});

const formatAnswer = (answer: Json = null): string => (typeof answer === 'string' ? answer : JSON.stringify(answer));

const buildEndPayload = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): TranslatedPayload => {
  const { task, status, error, confidence, happenedAt } = outcome;
  const isDone = status === 'completed';
  return {
    status: isDone ? 'success' : 'failure',
    deliverables: { files_modified: [], tests_added: [], artifacts: artifacts?.map(({ name = '' }) => name) ?? [] },
    metrics: { confidence, duration_ms: task.claimedAt === undefined ? undefined : happenedAt - task.claimedAt },
    issues: isDone ? [] : [formatFailureReason(outcome)],
    next_steps: [],
    parley: {
      status: isDone ? undefined : isCancelled(outcome) ? 'cancelled' : status,
      output,
      artifacts,
      error: isDone ? undefined : error && { ...error },
    },
  };
};

const formatFailureReason = ({ status, task, error }: TaskOutcome): string => {
  if (status === 'cancelled') return `The task ${task.id} was cancelled.`;
  if (status === 'expired') return formatExpiry(task);
  return error?.message ?? 'The task failed.';
};

/** What another dialect sends is something to be told: a status, with all of it beside. */
export const encodeDirectMessage = (directMessage: DirectMessage, content: Json): JsonObject => {
  const isOurs = directMessage.type.startsWith(`${MESSAGE_ROUTING}.`);
  const envelope = buildEnvelope(pickOwnExtensions(directMessage.extensions), {
    id: directMessage.id,
    from: directMessage.from,
    to: directMessage.to,
    at: directMessage.createdAt,
    type: isOurs ? directMessage.type.slice(MESSAGE_ROUTING.length + 1) : 'status-update',
    correlation: directMessage.correlation,
    priority: directMessage.priority,
  });
  if (isOurs) return { ...envelope, payload: content };
  const parley = { type: directMessage.type, content, ...pickForeignExtensions(directMessage.extensions) };
  const payload = { status: 'in_progress', message: directMessage.type, parley };
  return truncateMessage({ ...envelope, payload }, `/v1/messages/${directMessage.from}/${directMessage.id}`);
};

interface EnvelopeFields {
  id: string;
  from: string;
  to: string;
  at: number;
  type: string;
  correlation: string | undefined;
  priority: Priority;
}

/** As its sender wrote it where that was in this dialect, and complete in any case. */
const buildEnvelope = (
  said: JsonObject,
  { id, from, to, at, type, correlation, priority }: EnvelopeFields,
): JsonObject => ({
  ...(isOwnEnvelope(said)
    ? said
    : {
        version: MESSAGE_ROUTING_VERSION,
        timestamp: toIso(at),
        // Nobody counted it, and counting that begins anew is no loss.
        sequence: 1,
        requires_ack: false,
        priority: PRIORITY_NUMBERS[priority],
      }),
  msg_id: toShortId(id),
  from,
  to,
  type,
  correlation_id: said.correlation_id ?? (correlation === undefined ? undefined : toShortId(correlation)),
});

/** What `decode` put aside; what came in another dialect has nothing there. */
const pickOwnExtensions = (extensions: JsonObject): JsonObject => {
  const value = extensions[MESSAGE_ROUTING];
  return isJsonObject(value) ? value : {};
};

const isOwnEnvelope = (said: JsonObject): boolean => said.version !== undefined;

const pickForeignExtensions = ({ [MESSAGE_ROUTING]: _own, ...others }: JsonObject): JsonObject => others;

const toStringOrUndefined = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

const omitIfEmpty = (value: JsonObject): JsonObject | undefined =>
  Object.values(value).some((member) => member !== undefined) ? value : undefined;

/** The payload as it was sent, with what only Parley knows beside it. */
const addParleyFields = (payload: Json, more: JsonObject): Json => {
  const parley = omitIfEmpty(more);
  return parley && isJsonObject(payload) ? { ...payload, parley } : payload;
};
