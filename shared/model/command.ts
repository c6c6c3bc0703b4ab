import type { StatusReport } from '../identity/agents/agent.ts';
import type { ControlCommand } from '../identity/agents/agent-control.ts';
import type { Heartbeat } from '../identity/agents/agent-health.ts';
import type { ParleyErrorCode } from '../kernel/errors.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import type { Priority } from '../ports/queues.ts';
import type { Artifact } from './artifact.ts';
import type { BatchMembership, OnFailure, Progress, RetryPolicy, TaskError } from './task.ts';
import type { ViolationAction, ViolationSeverity } from './violation.ts';

interface BaseMessage {
  messageId: string;
  /** Tells a repeated message from another one under the same id. */
  fingerprint: string;
  from: string;
  /** The id as its sender wrote it, where that is another spelling. */
  givenId?: string;
  /** What the log of messages says of it beside its id and type. */
  auditEntry?: JsonObject;
  /** What its sender should know, though it was accepted. */
  notices?: string[];
  /** When its sender wrote it, in epoch milliseconds, and as which of its messages to the same agent, in protocols that count them. */
  sequenceInfo?: SequenceInfo;
}

/** The next number is always one that a message may carry, and every reader of JSON keeps. */
export const MAX_SEQUENCE = Number.MAX_SAFE_INTEGER - 1;

/** How a message was sent. */
export interface SequenceInfo {
  at: number;
  sequence: number;
  to: string;
}

export interface TaskRequestCommand extends BaseMessage {
  kind: 'request';
  taskId: string;
  to?: string;
  /** Which of the agent's instances gets it, if that is live; and which instance of the sender asks. */
  instance?: string;
  fromInstance?: string;
  capability: string;
  /** Absent where the capability decides: its domain, or else whoever offers it. */
  domain?: string;
  priority: Priority;
  ttlSeconds: number;
  /** Its time to live bounds the answer, and not only the wait for a claim. */
  boundsAnswer?: true;
  parent?: string;
  /** The conversation that it belongs to, for whoever looks for all of that. */
  conversation?: string;
  /** For whom it is done. */
  user?: string;
  /** What its sender files it under: a message that names no task may be about the one that has it. */
  requestId?: string;
  input: Json;
  extensions: JsonObject;
  /** The parent is named as a task, ended or not; without this the name may be that of any message. */
  isSubtask?: true;
  /** Earlier holders of the work. */
  delegationChain?: string[];
  /** It asks for an answer only, which a holder may do of its requester. */
  isQuestion?: true;
  /** A call that may come back to an agent: its dialect counts how deep such calls go. */
  isBoundedByDepth?: true;
  /** Tasks, by their own ids, that must be completed before this one is queued; its time to live counts from then. */
  dependencyIds?: string[];
  /** The same by short ids, of which those that mean no task are not waited for: its sender is told. */
  dependencyShortIds?: string[];
  ignoredDependencies?: string[];
  /** What becomes of it where one of those ends otherwise; by default it fails. */
  onFailure?: OnFailure;
  batchMembership?: BatchMembership;
  /** Of which graph it is a node. */
  graph?: string;
  /** It was done before it came here, with this output: nobody is to claim it, and others may wait for it. */
  completed?: { output: Json };
  retry?: RetryPolicy;
  /** Where the dialect allows another number of attempts than the configuration. */
  maxAttempts?: number;
  /** The trace, and the baggage, that the message itself names. */
  trace?: Trace;
  baggage?: string;
  /** Its sender wants to know if nobody has claimed it by then. */
  acknowledgeTimeoutMs?: number;
}

/** A message about a task that is there already. */
interface TaskMessage extends BaseMessage {
  taskId: string;
  attempt?: number;
  /** It has no id of its own but one made of what it says: the same words in a later round are another message. */
  isIdentifiedByContent?: true;
  /**
   * Given where `taskId` is no id, but what this requester and the sender call the task: eight digits of it, or nothing, which
   * means the only one that is open.
   */
  requester?: string;
  /** What it is instead where the task is not one that its sender was given. */
  fallback?: TaskRequestCommand | DirectMessageCommand;
  /** It is that also where its sender has completed the task before. */
  followsResult?: true;
  /** Files of the task so far, by their names: a later one replaces an earlier one. */
  artifacts?: Artifact[];
  /** What it says where its sender is the requester, and the holder waits for an answer. */
  reply?: Reply;
}

interface Reply {
  /** Who asked. Without it, `taskId` is that of the task, and not of the question. */
  to?: string;
  content: Json;
  extensions?: JsonObject;
}

interface ClaimMessage extends TaskMessage {
  kind: 'claim';
  claimNote: JsonObject;
  /** How long its sender thinks that it takes. */
  estimateMs?: number;
}

export interface ProgressMessage extends TaskMessage {
  kind: 'progress';
  progress: Omit<Progress, 'at'>;
}

interface CompleteMessage extends TaskMessage {
  kind: 'complete';
  output: Json;
  /** How sure the agent is, 0 to 1. */
  confidence?: number;
  extensions: JsonObject;
}

export interface FailMessage extends TaskMessage {
  kind: 'fail';
  error: TaskError;
  extensions: JsonObject;
  /** It did not fail: its holder gives it back, for whoever comes next. */
  release?: true;
  /** Its holder cannot do it, whatever the code says: another may. */
  isDecline?: true;
}

/** Nobody is to go on with the task: its requester no longer wants it, or its holder gives it up. */
interface CancelMessage extends TaskMessage {
  kind: 'cancel';
  error: TaskError;
  extensions: JsonObject;
}

export interface HeartbeatMessage extends BaseMessage {
  kind: 'heartbeat';
  heartbeat: Heartbeat;
  /** The same as a message, where it is sent to somebody. */
  message?: DirectMessageCommand;
}

/** A message to another agent that is no task. */
export interface DirectMessageCommand extends BaseMessage {
  kind: 'directMessage';
  to: string;
  /** It is for many by what it is, whoever `to` names. */
  audience?: 'all';
  /** Which of the recipient's instances reads it, while that is live. */
  instance?: string;
  /** What it is, with its dialect: `agent-os.gap`. */
  type: string;
  priority: Priority;
  /** Absent: no limit. */
  ttlSeconds?: number;
  /** Its sender wants to know if it is not acknowledged by then. */
  acknowledgeTimeoutMs?: number;
  /** The message or task that it belongs to. */
  correlation?: string;
  content: Json;
  extensions: JsonObject;
  /** Fails the one task with this request id that the sender holds for the recipient. */
  failsRequest?: { requestId: string; error: TaskError };
  /** It stays on a list until somebody closes it. */
  isGap?: boolean;
  /** What its recipient is told to do. */
  controlCommand?: ControlCommand;
  /** What its sender says of itself. */
  statusReport?: StatusReport;
}

/** A message that breaks a law of its protocol. It is refused, and that it came is kept. */
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

/** The holder cannot go on without an answer. */
export interface AskMessage extends TaskMessage {
  kind: 'ask';
  prompt: JsonObject;
  extensions?: JsonObject;
  /** How far it is. */
  progress?: Omit<Progress, 'at'>;
}

/** The requester answers. */
export interface AnswerMessage extends TaskMessage {
  kind: 'answer';
  answer: Json;
}

/** What its sender signed, with its `signature` if it did, and when, in epoch milliseconds; not a number where that is not said. */
export interface SignedContent {
  message: JsonObject;
  at: number;
}

/** What means something in one dialect alone. */
export interface ProtocolMessage extends Omit<BaseMessage, 'fingerprint'> {
  kind: 'protocol';
  dialect: string;
  /** Absent where a message is only streamed: nothing follows from those, and they have no headers to carry a signature. */
  signedContent?: SignedContent;
  /** Who sent it, where the relay brings it and `from` is nobody. */
  defaultFrom?: string;
}

export interface CommandResult {
  duplicate: boolean;
  taskId?: string;
  /** The turn that a call of an agent became. */
  agentTurnId?: string;
  /** Where no task tells how it ended: that, or what is asked, in the words of its dialect; undefined if neither comes in time. */
  waitForOutcome?(waitMs: number, signal: AbortSignal | undefined): Promise<JsonObject | undefined>;
}

/** What a message of any dialect asks for. */
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
