import type { Agent } from '../../identity/agents/agent.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import type { Trace } from '../../kernel/trace.ts';
import { type AgentState, agentStateRef, getOwn, isAgentState } from '../../model/agent-state.ts';
import { buildCorrelationRecord } from '../../model/correlation.ts';
import { type ToolCall, toToolCallTaskId } from '../../model/tool-call.ts';
import { and, type Condition, equals, notExists } from '../../ports/conditions.ts';
import type { TransactionWrite } from '../../ports/records.ts';
import type { TransactionGuard } from '../../tasks/commands/create-task.ts';
import { isCurrentToken, requireActive, requireAwaited, staleTurnError } from '../lifecycle/rules.ts';

/** An agent, or the providers of a capability. */
export interface CalledService {
  agent?: string;
  capability: string;
}

/** As in the agent state. No agent has the form of a capability. */
const formatServiceName = ({ agent, capability }: CalledService): string => agent ?? `@${capability}`;

/** For a capability, the task of the call knows the agent. */
export const requireCalledAgent = (toolCall: string, { id }: Pick<Agent, 'id'>): Condition =>
  equals(`calledServices.${toolCall}`, id);

/** The turn still waits, and nothing else executes the call. */
export const toolCallGuard = (
  call: ToolCall,
  head: AgentState,
  deadline: number,
  service: CalledService | undefined,
  trace: Trace,
  { now, keepMs: retentionMs, print: fingerprint }: { now: number; keepMs: number; print: string },
): TransactionGuard => {
  const { turn, epoch, toolCall, depth } = call;
  const facts = {
    correlation: toToolCallTaskId(turn, toolCall),
    depth,
    turn,
    happenedAt: now,
    fingerprint,
    ...trace,
  };
  const correlationRecord = buildCorrelationRecord(head.project, 'tool_call', 'request', {
    ...facts,
    expires: now + retentionMs,
  });
  return {
    writes: [buildWaitingWrite(call, head, deadline, service), { kind: 'create', item: { ...correlationRecord } }],
    toError: (at, current) => {
      if (at !== 0) return toolCallIdReusedError(toolCall);
      const found = current && isAgentState(current) ? current : undefined;
      return found && isCurrentToken(call, found) && getOwn(found.waiting, toolCall) === 'waiting'
        ? new AgentStateChangedError(toolCall)
        : staleTurnError({ turn, epoch }, found);
    },
  };
};

/** A shorter deadline needs an earlier timer, conditional on the state. */
const buildWaitingWrite = (
  call: ToolCall,
  head: AgentState,
  deadline: number,
  service: CalledService | undefined,
): TransactionWrite => {
  const { toolCall } = call;
  const key = agentStateRef(head.project, head.agent);
  // DynamoDB cannot set a path in an absent map. States of earlier versions have none.
  const isFirst = service !== undefined && head.calledServices === undefined;
  const isWaiting = and(
    requireActive(call).holds,
    requireAwaited(toolCall).holds,
    ...(isFirst ? [notExists('calledServices')] : []),
  );
  const name = service && formatServiceName(service);
  const called =
    name && (isFirst ? { calledServices: { [toolCall]: name } } : { [`calledServices.${toolCall}`]: name });
  const { deadline: first = deadline, due = deadline } = head;
  if (deadline >= (getOwn(head.deadlines, toolCall) ?? deadline)) {
    return called
      ? { kind: 'update', key, change: { if: isWaiting, set: called } }
      : { kind: 'check', key, if: isWaiting };
  }
  const set = {
    ...called,
    [`deadlines.${toolCall}`]: deadline,
    deadline: Math.min(first, deadline),
    due: Math.min(due, deadline),
  };
  return { kind: 'update', key, change: { if: and(isWaiting, equals('deadline', first)), set } };
};

class AgentStateChangedError extends ParleyError {
  constructor(toolCall: string) {
    super('conflict', `Other calls of the turn were in the way of the call ${toolCall}. Try again.`);
  }
}

/** Concurrent calls with short deadlines are written one by one. */
const CALL_RETRIES = { attempts: 5 };

export const retryOnAgentStateChange = <T extends object>(call: () => Promise<T>): Promise<T> =>
  retryOnConflict('the turn', CALL_RETRIES, async () => {
    try {
      return await call();
    } catch (error) {
      if (error instanceof AgentStateChangedError) return undefined;
      throw error;
    }
  });

export const toolCallIdReusedError = (toolCall: string): ParleyError =>
  new ParleyError(
    'id_reused',
    `Something else was asked for under the tool call ${toolCall} of this turn. Repeat a call unchanged; give a new one a new id.`,
  );
