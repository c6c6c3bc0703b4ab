import { SYSTEM_SENDER, toCanonicalId, toUuid, uuidFromSeed } from '../../kernel/ids.ts';
import { type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { formatExpiry, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import type { ReportedTask, Task } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import type { Priority } from '../../ports/queues.ts';
import { AGENT_OS, AGENT_OS_VERSION } from './decode.ts';
import { detectLanguage } from './detect-language.ts';
import { toAgentOsErrorCode } from './error-codes.ts';
import { buildEvidence } from './evidence.ts';

export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => {
  const said = pickOwnExtensions(task.extensions);
  const isOwn = task.dialect === AGENT_OS;
  return buildMessage(said, {
    id: toUuid(task.id),
    timestamp: task.createdAt,
    from: task.from,
    to: task.to ?? task.holder ?? SYSTEM_SENDER,
    // What another dialect asks for is something to be done, by a name.
    type: isOwn ? task.capability.slice(AGENT_OS.length + 1) : 'command',
    content: isOwn ? input : { command: task.capability, parameters: input },
    results,
    thread: task.parent ?? task.id,
    conversation: task.conversation,
    user: task.user,
    replyTo: task.parent && toUuid(task.parent),
    priority: task.priority,
    ttl: task.ttlSeconds,
    retryCount: toNumberOrZero(said.retryCount) + Math.max(0, task.attempt - 1),
    parley: {
      ...pickForeignExtensions(task.extensions),
      taskId: toOriginalTaskId(task.id),
      chain: task.delegationChain,
      retry: task.retry && { ...task.retry },
      lastError: task.error && toErrorContent(task.error),
    },
  });
};

export const encodeReport = (task: ReportedTask): JsonObject => {
  const { extensions = {}, percent, message: text, subTasks, blockers, confidence } = task.progress ?? {};
  const { content = null, ...said } = pickOwnExtensions(extensions);
  const made = task.progress
    ? { status: blockers ? 'blocked' : 'in_progress', percent, message: text, subTasks, blockers }
    : { status: task.status, note: task.claimNote };
  const { failedAttempt } = task;
  return buildMessage(said, {
    id: task.reportId ?? uuidFromSeed(['report', task.id, task.v]),
    timestamp: task.at,
    from: failedAttempt?.agent ?? task.holder ?? SYSTEM_SENDER,
    to: task.from,
    type: failedAttempt ? 'error' : 'event',
    content: failedAttempt ? toErrorContent(failedAttempt) : (content ?? made),
    asked: pickOwnExtensions(task.extensions),
    confidence,
    thread: task.id,
    replyTo: toUuid(task.id),
    priority: task.priority,
    ttl: task.ttlSeconds,
    parley: pickForeignExtensions(extensions),
  });
};

export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const isParleys = outcome.from === SYSTEM_SENDER;
  const { content, ...own } = isParleys ? {} : pickOwnExtensions(outcome.extensions);
  const { questionId } = outcome;
  const said = questionId === undefined ? own : { ...own, replyTo: toGivenId(own.replyTo, toUuid(questionId)) };
  const made = {
    response: outcome.status === 'claimed' ? (outcome.answer ?? null) : (output ?? null),
    error: content ?? buildFailureContent(outcome),
    query: buildQuestionContent(outcome),
  };
  const type = toMessageType(outcome);
  return buildMessage(said, {
    id: outcome.id,
    timestamp: outcome.happenedAt,
    from: outcome.from,
    to: outcome.to,
    type,
    content: made[type],
    // Whoever asked gets the answer where it asked.
    asked: outcome.to === outcome.task.from ? pickOwnExtensions(outcome.task.extensions) : undefined,
    confidence: outcome.confidence,
    thread: outcome.task.id,
    replyTo: toUuid(outcome.task.id),
    priority: outcome.task.priority,
    ttl: outcome.task.ttlSeconds,
    parley: {
      ...buildDialogueFields(outcome),
      ...(isParleys ? {} : pickForeignExtensions(outcome.extensions)),
      taskId: toOriginalTaskId(outcome.task.id),
      artifacts,
    },
  });
};

const toMessageType = ({ status }: TaskOutcome): 'response' | 'error' | 'query' => {
  if (status === 'input_required') return 'query';
  return status === 'completed' || status === 'claimed' ? 'response' : 'error';
};

/** As it was asked in this dialect, or else the text with whatever came beside it. */
const buildQuestionContent = ({ prompt = {}, extensions }: TaskOutcome): Json => {
  const { prompt: question, content = null, ...parameters } = prompt;
  return AGENT_OS in extensions ? content : { question, parameters };
};

const buildDialogueFields = ({ status, prompt, answer }: TaskOutcome): JsonObject => {
  if (status === 'input_required') return { status, input: prompt };
  return status === 'claimed' ? { status: 'input_given', input: { ...prompt, answer } } : {};
};

export const encodeDirectMessage = (directMessage: DirectMessage, content: Json): JsonObject => {
  const isOwn = directMessage.type.startsWith(`${AGENT_OS}.`);
  return buildMessage(pickOwnExtensions(directMessage.extensions), {
    id: directMessage.id,
    timestamp: directMessage.createdAt,
    from: directMessage.from,
    to: directMessage.to,
    type: isOwn ? directMessage.type.slice(AGENT_OS.length + 1) : 'event',
    content: isOwn ? content : { type: directMessage.type, content },
    thread: directMessage.correlation ?? directMessage.id,
    replyTo: directMessage.correlation && toUuid(directMessage.correlation),
    priority: directMessage.priority,
    ttl: directMessage.ttlSeconds,
    parley: pickForeignExtensions(directMessage.extensions),
  });
};

interface MessageFields {
  id: string;
  timestamp: number;
  from: string;
  to: string;
  type: string;
  content: Json;
  /** What those brought that the task waited for. */
  results?: JsonObject;
  /** What the message that this one answers carried. */
  asked?: JsonObject;
  /** How sure its sender is, 0 to 1, where that was said in another dialect. */
  confidence?: number;
  /** What the message belongs to, for a reader that wants a session and a request. */
  thread: string;
  /** For a context that says neither itself. */
  conversation?: string;
  user?: string;
  replyTo?: string;
  priority: Priority;
  ttl?: number;
  retryCount?: number;
  /** What only other dialects have words for. */
  parley: JsonObject;
}

/** A whole message: as its sender wrote it where that was in this dialect, and complete in any case. */
const buildMessage = (said: JsonObject, tell: MessageFields): JsonObject => {
  const { asked = {} } = tell;
  const parley = { ...tell.parley, priority: tell.priority === 'critical' ? tell.priority : undefined };
  return {
    version: AGENT_OS_VERSION,
    timestamp: toIso(tell.timestamp),
    evidence: buildEvidence(tell.from, tell.confidence),
    type: tell.type,
    from: toParty(tell.from),
    ...said,
    context: buildContext(said.context ?? asked.context, tell),
    id: toGivenId(said.id, tell.id),
    to: asked.from ?? said.to ?? toParty(tell.to),
    replyTo: asked.id ?? said.replyTo ?? tell.replyTo,
    payload: {
      ...DEFAULT_PAYLOAD,
      language: detectLanguage(tell.content) ?? pickLanguage(asked),
      ...toObjectOrEmpty(said.payload),
      content: tell.content,
      ...(tell.results && { results: tell.results }),
    },
    priority: said.priority ?? (tell.priority === 'critical' ? 'high' : tell.priority),
    ttl: said.ttl ?? tell.ttl,
    retryCount: tell.retryCount ?? toNumberOrZero(said.retryCount),
    ...(Object.values(parley).some((value) => value !== undefined) ? { parley } : {}),
  };
};

const buildContext = (said: Json | undefined, { thread, conversation, user }: MessageFields): JsonObject => ({
  ...(conversation !== undefined && { conversationId: conversation }),
  ...(user !== undefined && { userId: user }),
  ...(said === undefined
    ? { sessionId: thread, requestId: thread, locale: 'en-US', timezone: 'UTC' }
    : toObjectOrEmpty(said)),
});

const DEFAULT_PAYLOAD = { format: 'json', encoding: 'utf-8' };

const pickLanguage = ({ payload }: JsonObject): Json => toObjectOrEmpty(payload).language ?? 'en';

/** The id as it was sent, unless the message had to be given another. */
const toGivenId = (sent: Json | undefined, id: string): string =>
  typeof sent === 'string' && toCanonicalId(sent) === id ? sent : id;

/** The task's own id, where it had to be given another. */
const toOriginalTaskId = (taskId: string): string | undefined => (toUuid(taskId) === taskId ? undefined : taskId);

const toParty = (agentId: string): JsonObject => ({ agentId, instanceId: agentId });

const buildFailureContent = ({ status, task, error }: TaskOutcome): JsonObject => {
  if (status === 'cancelled') {
    const text = `The task ${task.id} was cancelled.`;
    return { code: 'CANCELLED', message: text, recoverable: false };
  }
  if (status === 'expired') {
    return { code: 'TIMEOUT', message: formatExpiry(task), recoverable: true };
  }
  return toErrorContent(error ?? { code: 'internal_error', message: 'The task failed.', retryable: false });
};

/** The nearest of this dialect's codes, and beside it the code that was said. */
const toErrorContent = (error: NonNullable<TaskOutcome['error']>): JsonObject => {
  const code = toAgentOsErrorCode(error.code);
  const { suggestion, ...details } = error.details ?? {};
  return {
    code,
    message: error.message,
    details: Object.keys(details).length > 0 ? details : undefined,
    recoverable: error.recoverable ?? error.retryable,
    suggestion,
    parley: code === error.code ? undefined : { code: error.code, retryAfterSeconds: error.retryAfterSeconds },
  };
};

/** What `decode` put aside; what came in another dialect has nothing there. */
const pickOwnExtensions = (extensions: JsonObject): JsonObject => toObjectOrEmpty(extensions[AGENT_OS]);

const pickForeignExtensions = ({ [AGENT_OS]: _own, ...rest }: JsonObject): JsonObject => rest;

const toNumberOrZero = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);
