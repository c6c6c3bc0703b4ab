import { assertBoxExists } from '../../cards/box.ts';
import { getRequiredCards } from '../../cards/put-card.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import { type Caller, findAgent, getCallerName } from '../../identity/auth/authenticate.ts';
import { assertChannelAccess, listChannelMembers, pickRandomMember } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import type { AfterExecution, Tool } from '../../identity/tools/tool.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { PUBLIC_CHANNEL } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { createChildSpan, inheritTrace, pickTraceFields, type Trace } from '../../kernel/trace.ts';
import { type AgentState, agentStateRef, getOwn } from '../../model/agent-state.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import { correlationRef } from '../../model/correlation.ts';
import { type ToolCall, type TurnTaskLink, toToolCallTaskId } from '../../model/tool-call.ts';
import { findTool, getTool } from '../../registration/register-tool.ts';
import { createTask, type TransactionGuard } from '../../tasks/commands/create-task.ts';
import { protocolViolationError } from '../lifecycle/enqueue.ts';
import { isCurrentToken, staleTurnError } from '../lifecycle/rules.ts';
import { type CalledService, retryOnAgentStateChange, toolCallGuard, toolCallIdReusedError } from './guard.ts';

export interface ToolCommand {
  agent: string;
  turn: string;
  epoch: number;
  toolCall: string;
  /** A tool of Parley itself, which needs no registration. */
  isInternal: boolean;
  toolName?: string;
  afterExecution?: AfterExecution;
  /** With the arguments. */
  card?: string;
  contextBox?: string;
  /** As in the registration of the tool: target and action. */
  targetSubject: string;
  target: string;
  action: string;
  channel: string;
  depth?: number;
  /** Type of the forwarded message. */
  type: string;
  protocolVersion: string;
  subject: string;
  headers: Readonly<Record<string, unknown>>;
  /** Of the command, if it has one. */
  trace?: Trace;
  payload: JsonObject;
}

export interface ValidatedCall {
  call: ToolCall;
  id: string;
  /** For repetitions. */
  fingerprint: string;
  deadline: number;
  /** Of the command, or else of the turn. */
  trace: Trace;
  /** User and context, likewise. */
  headers?: JsonObject;
  /** Guards the task or turn that executes the call. */
  buildGuard: (service?: CalledService) => TransactionGuard;
}

/** Checks the turn of the sender, its depth and channel, and the registered tool. */
export const validateToolCall = async (
  deps: Deps,
  caller: Caller,
  command: ToolCommand,
): Promise<ValidatedCall | 'answered'> => {
  const { agent, turn, epoch, toolCall, toolName, targetSubject } = command;
  if (caller.role === 'agent' && caller.registered.agent.id !== agent) {
    throw new ParleyError('from_mismatch', `The key belongs to ${getCallerName(caller)}, not to ${agent}.`);
  }
  const lookUp = command.isInternal ? findTool : getTool;
  const tool = toolName === undefined ? undefined : await lookUp(deps, caller.project, toolName);
  if (tool && tool.targetSubject !== targetSubject) {
    throw protocolViolationError(
      'subject',
      `The tool ${tool.name} takes commands on ${tool.targetSubject}, not on ${targetSubject}.`,
    );
  }
  const head = await deps.records.get(agentStateRef(caller.project, agent));
  if (!head?.active || !isCurrentToken({ turn, epoch }, head)) throw staleTurnError({ turn, epoch }, head);
  // It differs in each repetition.
  const { dispatch_requested_at: _time, ...payload } = command.payload;
  const fingerprint = computeFingerprint([command.subject, payload]);
  if (getOwn(head.waiting, toolCall) !== 'waiting')
    return assertAlreadyAnswered(deps, head, { turn, toolCall }, fingerprint);
  const { depth, channel, callers, protocolVersion } = head.active;
  if (command.depth !== undefined && command.depth !== depth) {
    throw protocolViolationError(
      'recursion_depth',
      `The recursion depth is ${command.depth}, but the turn's is ${depth}.`,
    );
  }
  if (command.channel !== channel) {
    throw protocolViolationError(
      'channel',
      `The subject is of the channel ${command.channel}, but the turn of ${channel}.`,
    );
  }
  const afterExecution = command.afterExecution ?? tool?.afterExecution ?? 'suspend';
  const call = { agent, turn, epoch, toolCall, depth, channel, afterExecution, callers, protocolVersion };
  const trace = command.trace
    ? inheritTrace(command.trace, head.active)
    : createChildSpan(pickTraceFields(head.active));
  const headers = turnProtocol.inheritHeaders(command.headers, head.active.headers);
  const now = deps.clock.now();
  const deadline = computeCallDeadline(now, head, toolCall, tool);
  const { retentionMs } = deps.config.turns;
  const buildGuard = (service?: CalledService) =>
    toolCallGuard(call, head, deadline, service, trace, { now, keepMs: retentionMs, print: fingerprint });
  return {
    call,
    id: toToolCallTaskId(turn, toolCall),
    fingerprint,
    deadline,
    trace,
    headers,
    buildGuard,
  };
};

/**
 * A repetition after the report does nothing. A call before its suspend is rejected: the report of a fast tool would
 * be lost.
 */
const assertAlreadyAnswered = async (
  { records }: Deps,
  { project }: AgentState,
  { turn, toolCall }: Pick<ToolCall, 'turn' | 'toolCall'>,
  fingerprint: string,
): Promise<'answered'> => {
  const correlationRecord = await records.get(
    correlationRef(project, toToolCallTaskId(turn, toolCall), 'tool_call', 'request'),
  );
  if (correlationRecord?.fingerprint === fingerprint) return 'answered';
  if (correlationRecord) throw toolCallIdReusedError(toolCall);
  throw protocolViolationError(
    'tool_call_id',
    `The turn does not wait for the tool call ${toolCall}. Suspend it first, then call.`,
  );
};

/** The tool's own limit, if it is shorter. */
const computeCallDeadline = (
  now: number,
  { deadlines }: AgentState,
  toolCall: string,
  tool: Tool | undefined,
): number => {
  const given = getOwn(deadlines, toolCall) ?? now;
  const seconds = tool?.options.deadline_seconds;
  return typeof seconds === 'number' ? Math.min(given, now + seconds * 1000) : given;
};

/** Creates a task for the target of the subject: an agent, or the providers of a capability. */
export const callTool = (deps: Deps, caller: Caller, command: ToolCommand) =>
  retryOnAgentStateChange(() => createToolCommandTask(deps, caller, command));

const createToolCommandTask = async (deps: Deps, caller: Caller, command: ToolCommand) => {
  const checked = await validateToolCall(deps, caller, command);
  const { turn, toolCall, target, card, contextBox } = command;
  if (checked === 'answered') return { duplicate: true, taskId: toToolCallTaskId(turn, toolCall) };
  const { call, id, trace } = checked;
  await Promise.all([
    getRequiredCards(deps, caller.project, card === undefined ? [] : [card]),
    assertBoxExists(deps, caller.project, contextBox),
  ]);
  const agent = await resolveService(deps, caller.project, target, call.channel);
  const request = buildToolRequest(deps, caller, command, checked, agent);
  const guard = checked.buildGuard({ agent, capability: target });
  const { duplicate } = await createTask(deps, caller, turnProtocol.dialect, request, trace, guard);
  return { duplicate, taskId: id };
};

/** Undefined for any provider. */
const resolveService = async (
  deps: Deps,
  project: string,
  target: string,
  channel: string,
): Promise<string | undefined> => {
  const service = await findAgent(deps, project, target);
  if (service) {
    assertChannelAccess(service.agent, channel);
    return target;
  }
  if (channel === PUBLIC_CHANNEL) return undefined;
  const member = pickRandomMember(await listChannelMembers(deps, project, target, channel));
  if (member !== undefined) return member;
  throw new ParleyError(
    'channel_forbidden',
    `None of the agents with the capability ${target} may use the channel ${channel}.`,
    { details: { channel } },
  );
};

const buildToolRequest = (
  deps: Deps,
  caller: Caller,
  command: ToolCommand,
  { call, id, fingerprint, deadline, trace, headers: within = {} }: ValidatedCall,
  to: string | undefined,
): TaskRequestCommand => {
  const { subject, headers, type, target, action, toolName, payload } = command;
  const now = deps.clock.now();
  const missing = { at: now, type, sender: call.agent, depth: call.depth, version: command.protocolVersion };
  const link: TurnTaskLink = {
    subject,
    headers: turnProtocol.completeHeaders(headers, missing, trace, within),
    channel: call.channel,
    depth: call.depth,
    ...(caller.role === 'agent' && caller.viaRelay && { isAlreadyPublished: true }),
    call: { ...call },
  };
  return {
    kind: 'request',
    messageId: id,
    taskId: id,
    fingerprint,
    from: call.agent,
    to,
    isBoundedByDepth: true,
    // The target decides who gets it, not the name of the tool.
    capability: to === undefined ? target : (toolName ?? action),
    priority: 'normal',
    ttlSeconds: Math.max(1, Math.ceil((deadline - now) / 1000)),
    input: payload,
    extensions: turnProtocol.toExtensions(link),
    ...turnProtocol.fromHeaders(within),
    trace,
  };
};
