import { executeProtocolMessage } from '../adapters/execute-protocol-message.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { isAudited } from '../dialects/is-audited.ts';
import type { RegisteredAgent } from '../identity/agents/agent.ts';
import { recordActivity, shouldRecordActivity } from '../identity/agents/agent-activity.ts';
import { type Caller, findAgent, getCallerName, type RelayCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { assertNotReserved, toCanonicalId } from '../kernel/ids.ts';
import { computeFingerprint } from '../kernel/json/fingerprint.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { logRateLimited } from '../kernel/log.ts';
import type { Trace } from '../kernel/trace.ts';
import type {
  Command,
  CommandResult,
  ProtocolMessage,
  SignedContent,
  TaskCommand,
  TaskReport,
} from '../model/command.ts';
import type { QueueCounts } from '../ports/queues.ts';
import { applyReport } from '../tasks/commands/apply-report.ts';
import { type CreateTaskResult, createTask } from '../tasks/commands/create-task.ts';
import { deduplicate } from '../tasks/commands/deduplicate.ts';
import { withResolvedTaskId } from '../tasks/ids/aliases.ts';
import { authorizeSender, consumeRateLimit } from './authorize.ts';
import { resolveSenderDialect } from './resolve-sender-dialect.ts';

export interface IngestResult extends CommandResult {
  id: string;
  dialect: string;
  /** A unique id, if that of the sender is not. */
  messageId?: string;
  /** Unknown dependencies of a request. */
  ignoredDependencies?: string[];
  /** Warnings about an accepted message. */
  notices?: string[];
  /** Of a broadcast. */
  broadcastId?: string;
  /** Queued tasks that are more urgent than the sender's. */
  waiting?: QueueCounts;
  /** Set if nothing was done, because the message does not concern Parley. */
  skipped?: string;
}

export interface ReceiveContext {
  caller: Caller | RelayCaller;
  /** Chosen by the sender. */
  dialect?: string;
  /** If known; otherwise that of the sender. */
  profile?: string;
  trace: Trace;
  /** The signature of the call, for dialects whose messages have no field for one. */
  signed?: SignedContent;
  /** Its audience, whoever the message names. */
  broadcast?: string;
  /** Its readers on NATS have it. */
  isAlreadyPublished?: true;
  /** Set for messages from NATS. */
  publishedAt?: number;
  /** Called as soon as the task is known, for the log. */
  onTaskId?: (taskId: string) => void;
}

/** Any message of any dialect. */
export const ingestMessage = async (deps: Deps, sent: ReceiveContext, message: JsonObject): Promise<IngestResult> => {
  const dialect = await resolveSenderDialect(deps, sent, message);
  const begun = performance.now();
  let isAuthorized = false;
  try {
    const decoded = decodeCommand(deps, sent.caller, dialect, message);
    if (decoded.kind === 'protocol') {
      if (sent.broadcast !== undefined) throw notBroadcastableError(dialect);
      const caller = await authorizeProtocolMessage(deps, sent, decoded);
      const done = await executeProtocolMessage(deps, caller, sent.trace, decoded);
      return { id: decoded.messageId, dialect: dialect.name, ...done };
    }
    const signed = decoded.sequenceInfo
      ? { message: omitFields(message, dialect.unsignedFields), at: decoded.sequenceInfo.at }
      : sent.signed;
    const sender = await authorizeSender(deps, {
      caller: sent.caller,
      from: decoded.from,
      messageCount: 1,
      signature: signed,
    });
    isAuthorized = true;
    // Some dialects derive the message id from the content.
    const given = decoded.givenId ?? message.id;
    if (typeof given === 'string' && toCanonicalId(given) === decoded.messageId) {
      assertNotReserved(decoded.kind === 'request' ? 'A task' : 'A message', decoded.messageId);
    }
    const caller =
      sent.caller.role === 'relay' ? await actAs(deps, sent.caller, sender, sent.publishedAt) : sent.caller;
    const audience = sent.broadcast ?? (decoded.kind === 'directMessage' ? decoded.audience : undefined);
    const called = withAudience(audience, decoded);
    const command = mayNameOthers(called) ? await loadAndResolve(deps, caller, sender, called) : called;
    if ('taskId' in command && command.taskId !== undefined) sent.onTaskId?.(command.taskId);
    const once = <T>(act: () => Promise<T>): Promise<T> => deduplicate(deps, caller.project, command, act);
    if (audience !== undefined) {
      return await once(() => broadcastCommand(deps, caller, sent, dialect.name, audience, command));
    }
    const { duplicate, notices, waiting } = await once(() =>
      executeCommand(deps, caller, sent, dialect.name, sender, command),
    );
    if (command.sequenceInfo) {
      const { recordSequence } = await import('../messaging/sequences/sequence.ts');
      await recordSequence(deps, sender.agent.project, command, duplicate);
    }
    if (dialect.latencyAlerts) {
      const { project, id: agent } = sender.agent;
      const alert = { labels: { project }, agent, threshold: dialect.latencyAlerts.writeMs };
      const { recordWithAlert } = await import('../events/metric-alerts.ts');
      await recordWithAlert(deps, 'message_write_latency_ms', performance.now() - begun, alert);
    }
    const { messageId, givenId = messageId } = command;
    const taskId = 'taskId' in command ? command.taskId : undefined;
    const unique = toCanonicalId(givenId) === messageId ? undefined : messageId;
    const ignoredDependencies = command.kind === 'request' ? command.ignoredDependencies : undefined;
    return {
      id: givenId,
      dialect: dialect.name,
      duplicate,
      messageId: unique,
      taskId,
      ignoredDependencies,
      notices,
      waiting,
    };
  } catch (error) {
    if (sent.caller.role === 'agent' && error instanceof ParleyError) {
      const { isAuditedRejection, recordRejection } = await import('../messaging/rejections/rejected-message.ts');
      if (isAuditedRejection(deps, dialect, error)) {
        const { agent } = sent.caller.registered;
        if (!isAuthorized) await consumeRateLimit(deps, agent, 1);
        await recordRejection(deps, agent, dialect, message, error);
      }
    }
    throw toProtocolError(dialect, error);
  }
};

const omitFields = (message: JsonObject, names: readonly string[] = []): JsonObject =>
  names.length === 0 ? message : Object.fromEntries(Object.entries(message).filter(([name]) => !names.includes(name)));

const notBroadcastableError = ({ name }: Dialect): ParleyError =>
  new ParleyError('invalid_request', `A message of ${name} is for whom its subject names: send one to each agent.`);

/** Administrators may call agents directly. */
const authorizeProtocolMessage = async (
  deps: Deps,
  { caller, publishedAt }: ReceiveContext,
  message: ProtocolMessage,
): Promise<Caller> => {
  if (caller.role === 'admin') return caller;
  const { signedContent } = message;
  const from = caller.role === 'relay' ? await resolveRelayedSender(deps, caller, message) : message.from;
  const sender = await authorizeSender(deps, { caller, from, messageCount: 1, signature: signedContent ?? 'never' });
  return caller.role === 'relay' ? actAs(deps, caller, sender, publishedAt) : caller;
};

const resolveRelayedSender = async (
  deps: Deps,
  { project }: RelayCaller,
  { from, defaultFrom }: ProtocolMessage,
): Promise<string> =>
  defaultFrom === undefined || (await findAgent(deps, project, from)) !== undefined ? from : defaultFrom;

/** As if the agent had called at the time of publication. */
const actAs = async (
  deps: Deps,
  { project }: RelayCaller,
  known: RegisteredAgent,
  publishedAt?: number,
): Promise<Caller> => {
  if (shouldRecordActivity(deps, known, publishedAt)) await recordActivity(deps, known, publishedAt);
  return { project, role: 'agent', registered: known, viaRelay: true };
};

const broadcastCommand = async (
  deps: Deps,
  caller: Caller,
  { trace, isAlreadyPublished }: ReceiveContext,
  dialect: string,
  audience: string,
  command: Command,
): Promise<IngestResult> => {
  const { createBroadcast } = await loadMessaging();
  const { duplicate } = await createBroadcast(deps, caller, { audience, dialect, trace, isAlreadyPublished }, command);
  const { messageId, givenId = messageId } = command;
  const notices = duplicate ? undefined : command.notices;
  return { id: givenId, dialect, duplicate, broadcastId: messageId, notices };
};

/** Adds the dialect's own error fields. */
export const toProtocolError = (dialect: Dialect, error: unknown): unknown => {
  if (!(error instanceof ParleyError)) return error;
  const protocolDetails = dialect.toProtocolError?.(error);
  if (!protocolDetails) return error;
  const { code, message, issues, retryable, cause, details } = error;
  return new ParleyError(code, message, { issues, retryable, cause, details: { ...details, ...protocolDetails } });
};

/** Absent without an audit log. */
export const withAuditEntry = <T extends Command>(
  deps: Deps,
  dialect: Dialect,
  { type }: JsonObject,
  command: T,
): T => {
  const { messageId, givenId = messageId } = command;
  const auditEntry = isAudited(deps.config, dialect)
    ? { id: givenId, type: type ?? command.kind, ...command.auditEntry }
    : undefined;
  const { fallback } = 'fallback' in command ? command : {};
  return { ...command, auditEntry, ...(fallback && { fallback: { ...fallback, auditEntry } }) };
};

/** A broadcast is another message than the same content to one agent. */
const withAudience = (audience: string | undefined, command: TaskCommand): TaskCommand => {
  if (audience === undefined) return command;
  const fingerprint = { fingerprint: computeFingerprint([command.fingerprint, audience]) };
  const { fallback } = 'fallback' in command ? command : {};
  return { ...command, ...fingerprint, ...(fallback && { fallback: { ...fallback, ...fingerprint } }) };
};

const decodeCommand = (deps: Deps, caller: Caller | RelayCaller, dialect: Dialect, message: JsonObject): Command => {
  const sender = caller.role === 'agent' ? caller.registered.agent.id : undefined;
  try {
    return withAuditEntry(deps, dialect, message, dialect.decode(message, deps.config, sender));
  } catch (error) {
    if (error instanceof ParleyError) logRejection(deps, caller, dialect, error);
    throw error;
  }
};

const logRejection = (
  deps: Deps,
  caller: Caller | RelayCaller,
  { name, logsRejections }: Dialect,
  { code, issues, details }: ParleyError,
): void => {
  const isOtherMajor = code === 'unsupported_version';
  if (!isOtherMajor && !logsRejections) return;
  const what = isOtherMajor ? 'message rejected: unsupported version' : 'message rejected: invalid';
  logRateLimited(deps, { project: caller.project, agent: getCallerName(caller) }, what, {
    dialect: name,
    code,
    issues: issues?.map(({ path, message }) => `${path}: ${message}`),
    ...details,
  });
};

/** Most messages name their task by its id, and nothing else. */
const mayNameOthers = (command: TaskCommand): boolean =>
  ('fallback' in command && command.fallback !== undefined) ||
  ('requester' in command && command.requester !== undefined) ||
  (command.kind === 'request' && (command.parent !== undefined || command.dependencyShortIds !== undefined));

const loadAndResolve = async (
  deps: Deps,
  caller: Caller,
  sender: RegisteredAgent,
  command: TaskCommand,
): Promise<TaskCommand> => {
  const { resolveReferences } = await import('./resolve-references.ts');
  return resolveReferences(deps, caller, sender, command);
};

/** Loaded on demand: most messages are requests and reports. */
const loadMessaging = () => import('./execute-direct-message.ts');

type ExecutionResult = CreateTaskResult & Pick<IngestResult, 'waiting'>;

const executeCommand = async (
  deps: Deps,
  caller: Caller,
  sent: ReceiveContext,
  dialect: string,
  sender: RegisteredAgent,
  command: TaskCommand,
): Promise<ExecutionResult> => {
  switch (command.kind) {
    case 'request':
      return createTask(deps, caller, dialect, command, sent.trace);
    case 'heartbeat':
      return (await loadMessaging()).executeHeartbeat(deps, caller, sent, dialect, sender, command);
    case 'directMessage':
      return (await loadMessaging()).executeDirectMessage(deps, caller, sent, dialect, sender, command);
    case 'violation':
      return (await loadMessaging()).recordAndRejectViolation(deps, caller.project, dialect, command);
    case 'answer':
      return (await loadMessaging()).answerTask(deps, caller, command.taskId, command.answer);
    default:
      return executeReportOrMessage(deps, caller, sent, dialect, sender, command);
  }
};

/** In some protocols a message may follow a result. */
const executeReportOrMessage = async (
  deps: Deps,
  caller: Caller,
  sent: ReceiveContext,
  dialect: string,
  sender: RegisteredAgent,
  report: TaskReport,
): Promise<ExecutionResult> => {
  const { fallback, followsResult, from } = report;
  try {
    return await executeReport(deps, caller, sender, report);
  } catch (error) {
    if (followsResult && fallback?.kind === 'directMessage' && isAfterOwnResult(error, from)) {
      return (await loadMessaging()).executeDirectMessage(deps, caller, sent, dialect, sender, fallback);
    }
    return (await loadMessaging()).answerByReply(deps, sender, report, error);
  }
};

const isAfterOwnResult = (error: unknown, agent: string): boolean =>
  error instanceof ParleyError &&
  error.code === 'task_ended' &&
  error.details.state === 'completed' &&
  error.details.holder === agent;

/** Senders on NATS read no response. */
const executeReport = async (
  deps: Deps,
  caller: Caller,
  sender: RegisteredAgent,
  report: TaskReport,
): Promise<ExecutionResult> => {
  const { duplicate, task } = await withResolvedTaskId(deps, caller.project, report.taskId, (taskId) =>
    applyReport(deps, sender, { ...report, taskId }, report.taskId),
  );
  const isAnswered = caller.role === 'admin' || !caller.viaRelay;
  const isCounted = report.kind === 'progress' && task !== undefined && isAnswered;
  if (!isCounted) return { duplicate };
  const { countMoreUrgent } = await import('../tasks/commands/count-more-urgent.ts');
  return { duplicate, waiting: await countMoreUrgent(deps, sender, task.priority) };
};
