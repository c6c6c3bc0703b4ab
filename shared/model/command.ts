import type { StatusReport } from '../identity/agents/agent.ts';
import type { ControlCommand } from '../identity/agents/agent-control.ts';
import type { Heartbeat } from '../identity/agents/agent-health.ts';
import type { TaskLimit } from '../identity/limit-rules.ts';
import type { ParleyErrorCode } from '../kernel/errors.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import type { Priority } from '../ports/queues.ts';
import type { Artifact } from './artifact.ts';
import type { BatchMembership, OnFailure, Progress, RetryPolicy, TaskError } from './task.ts';
import type { ViolationAction, ViolationSeverity } from './violation.ts';

interface BaseMessage {
  messageId: string;
  /** Separates a repetition from another message under the same id. */
  fingerprint: string;
  from: string;
  /** The sender's spelling of the id, if it differs. */
  givenId?: string;
  /** Fields of the audit log beside id and type. */
  auditEntry?: JsonObject;
  /** Warnings about an accepted message. */
  notices?: string[];
  /** For dialects that number their messages. */
  sequenceInfo?: SequenceInfo;
}

/** The next number is still a safe integer. */
export const MAX_SEQUENCE = Number.MAX_SAFE_INTEGER - 1;

export interface SequenceInfo {
  at: number;
  sequence: number;
  to: string;
}

export interface TaskRequestCommand extends BaseMessage {
  kind: 'request';
  taskId: string;
  to?: string;
  /** The instance that gets it, if it is live; and the instance that requests. */
  instance?: string;
  fromInstance?: string;
  capability: string;
  /** Absent if the capability decides. */
  domain?: string;
  priority: Priority;
  ttlSeconds: number;
  /** Epoch milliseconds. It is queued then, and its time to live starts. */
  notBefore?: number | undefined;
  /** The time to live also limits the answer, not only the wait for a claim. */
  boundsAnswer?: true;
  parent?: string;
  conversation?: string;
  /** The end user. */
  user?: string;
  /** The requester's own reference. Later messages may name it instead of the task. */
  requestId?: string;
  input: Json;
  extensions: JsonObject;
  /** The parent is a task id, ended or not. Otherwise it may be the id of any message. */
  isSubtask?: true;
  /** Earlier holders of the work. */
  delegationChain?: string[];
  /** A question that a holder asks its requester. */
  isQuestion?: true;
  /** A cycle of calls is allowed, because the dialect limits its depth. */
  isBoundedByDepth?: true;
  /** Tasks that must be completed before this one is queued. The time to live starts then. */
  dependencyIds?: string[];
  /** The same by short id. Unknown ones are ignored, and the sender is told. */
  dependencyShortIds?: string[];
  ignoredDependencies?: string[];
  /** Default: it fails. */
  onFailure?: OnFailure;
  batchMembership?: BatchMembership;
  graph?: string;
  /** The ended task that it runs again. */
  rerunOf?: string;
  /** Recorded as completed with this output. It is not claimed, but others may depend on it. */
  completed?: { output: Json };
  retry?: RetryPolicy;
  limits?: TaskLimit[] | undefined;
  /** If the dialect differs from the configuration. */
  maxAttempts?: number;
  /** Its changes are pushed. */
  hasPush?: true;
  /** Of the message itself. */
  trace?: Trace;
  baggage?: string;
  /** The sender is told if nobody has claimed the task by then. */
  acknowledgeTimeoutMs?: number;
}

/** A message about an existing task. */
interface TaskMessage extends BaseMessage {
  taskId: string;
  attempt?: number;
  /** Its id is a hash of its content: the same content in a later round is a new message. */
  isIdentifiedByContent?: true;
  /** Set if `taskId` is a short id between this requester and the sender, or empty for the only open task. */
  requester?: string;
  /** Used if the sender was not given the task. */
  fallback?: TaskRequestCommand | DirectMessageCommand;
  /** Also used if the sender completed the task before. */
  followsResult?: true;
  /** Artifacts so far, by name. A later one replaces an earlier one. */
  artifacts?: Artifact[];
  /** Used if the sender is the requester and the holder waits for an answer. */
  reply?: Reply;
}

interface Reply {
  /** The asker. Without it, `taskId` is the task, not the question. */
  to?: string;
  content: Json;
  extensions?: JsonObject;
}

interface ClaimMessage extends TaskMessage {
  kind: 'claim';
  claimNote: JsonObject;
  /** The sender's estimate. */
  estimateMs?: number;
}

export interface ProgressMessage extends TaskMessage {
  kind: 'progress';
  progress: Omit<Progress, 'at'>;
}

interface CompleteMessage extends TaskMessage {
  kind: 'complete';
  output: Json;
  /** 0 to 1. */
  confidence?: number;
  extensions: JsonObject;
}

export interface FailMessage extends TaskMessage {
  kind: 'fail';
  error: TaskError;
  extensions: JsonObject;
  /** Not a failure: the holder releases the task. */
  release?: true;
  /** The holder cannot do it, whatever the code says. */
  isDecline?: true;
}

/** By the requester, or by the holder for good. */
interface CancelMessage extends TaskMessage {
  kind: 'cancel';
  error: TaskError;
  extensions: JsonObject;
}

export interface HeartbeatMessage extends BaseMessage {
  kind: 'heartbeat';
  heartbeat: Heartbeat;
  /** The same as a direct message, for its recipient. */
  message?: DirectMessageCommand;
}

export interface DirectMessageCommand extends BaseMessage {
  kind: 'directMessage';
  to: string;
  /** Its type makes it a broadcast, whatever `to` names. */
  audience?: 'all';
  /** If it is live. */
  instance?: string;
  /** With its dialect: `agent-os.gap`. */
  type: string;
  priority: Priority;
  /** Absent: no limit. */
  ttlSeconds?: number;
  /** The sender is told if it is not acknowledged by then. */
  acknowledgeTimeoutMs?: number;
  correlation?: string;
  content: Json;
  extensions: JsonObject;
  /** Fails the one task with this request id that the sender holds for the recipient. */
  failsRequest?: { requestId: string; error: TaskError };
  /** Listed until somebody closes it. */
  isGap?: boolean;
  /** Whether Parley itself executes it or not. */
  needsCoordinator?: true;
  controlCommand?: ControlCommand;
  statusReport?: StatusReport;
}

/** A message that broke a law of its protocol. It is rejected and recorded. */
export interface ViolationMessage extends BaseMessage {
  kind: 'violation';
  code: ParleyErrorCode;
  law: string;
  severity: ViolationSeverity;
  action: ViolationAction;
  detail: string;
  taskId?: string;
  to?: string;
}

/** A question: the holder waits for the answer. */
export interface AskMessage extends TaskMessage {
  kind: 'ask';
  prompt: JsonObject;
  extensions?: JsonObject;
  progress?: Omit<Progress, 'at'>;
}

/** The requester's answer to a question. */
export interface AnswerMessage extends TaskMessage {
  kind: 'answer';
  answer: Json;
}

/** The signed content with its signature, and its time in epoch milliseconds or NaN. */
export interface SignedContent {
  message: JsonObject;
  at: number;
}

/** A command that only one dialect has. */
export interface ProtocolMessage extends Omit<BaseMessage, 'fingerprint'> {
  kind: 'protocol';
  dialect: string;
  /** Absent for streamed messages, which have no effects and no signature header. */
  signedContent?: SignedContent;
  /** The sender, if the relay sends the message and `from` is nobody. */
  defaultFrom?: string;
}

export interface CommandResult {
  duplicate: boolean;
  taskId?: string;
  agentTurnId?: string;
  /** The outcome or question in the dialect, for commands without a task. Undefined after `waitMs`. */
  waitForOutcome?(waitMs: number, signal: AbortSignal | undefined): Promise<JsonObject | undefined>;
}

export type TaskReport = ClaimMessage | ProgressMessage | CompleteMessage | FailMessage | CancelMessage | AskMessage;
export type Command =
  | TaskRequestCommand
  | TaskReport
  | HeartbeatMessage
  | DirectMessageCommand
  | ViolationMessage
  | AnswerMessage
  | ProtocolMessage;
export type TaskCommand = Exclude<Command, ProtocolMessage>;
