import type * as z from 'zod';
import { parseCardControl } from '../../cards/card.ts';
import { unknownCardsError } from '../../cards/put-card.ts';
import type { ToolReportPayload as Wire } from '../../dialects/common-ground/payloads.ts';
import { type Agent, listUnscopedCapabilities } from '../../identity/agents/agent.ts';
import { COORDINATOR_ROLE } from '../../identity/agents/agent-control.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import { listUsableChannels } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { createChildSpan, type Trace } from '../../kernel/trace.ts';
import { agentStateRef } from '../../model/agent-state.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { getCommonGroundExtensions, getToolCall, toToolCallTaskId } from '../../model/tool-call.ts';
import { requireCalledAgent } from './guard.ts';
import { checkIgnored, type IgnoredReason, type ReporterCheck, recordToolReport } from './record-report.ts';

/**
 * A report as a tool sends it: one write, without a look before it. What its card says should happen comes before what the report
 * itself says, and the card's id tells it.
 */
export const receiveReport = async (
  deps: Deps,
  caller: Caller,
  said: z.output<typeof Wire>,
  depth: number,
  trace: Trace,
  channel?: string,
): Promise<{ ignored?: IgnoredReason }> => {
  const { project } = caller;
  const holder = { project, agent: said.agent_id, turn: said.agent_turn_id, epoch: said.turn_epoch };
  const control = parseCardControl(project, said.tool_result_card_id);
  const reporter = await resolveReporterCheck(deps, caller, said);
  if (!control) {
    await reporter?.assertCalled();
    const head = await deps.records.get(agentStateRef(project, holder.agent));
    // What nobody waits for any more changes nothing, whatever it says.
    const ignored = head ? checkIgnored(head, holder, said.tool_call_id) : 'late';
    if (ignored) return { ignored };
    throw unknownCardsError([said.tool_result_card_id]);
  }
  return recordToolReport(
    deps,
    holder,
    said.tool_call_id,
    { depth, channel, channels: listUsableChannels(caller) },
    {
      type: said.message_type,
      status: said.status,
      afterExecution: control.wanted ?? said.after_execution,
      card: said.tool_result_card_id,
      ...createChildSpan(trace),
    },
    reporter,
  );
};

/** A tool speaks for itself, and a worker for the tools that it runs on its own. Undefined for who may report. */
const resolveReporterCheck = async (
  deps: Deps,
  caller: Caller,
  said: z.output<typeof Wire>,
): Promise<ReporterCheck | undefined> => {
  if (caller.role === 'admin') return undefined;
  const { agent } = caller.registered;
  if (agent.id === said.agent_id || agent.role === COORDINATOR_ROLE) return undefined;
  // It may be one of several that a call by capability is for: one read says whether another has taken it up.
  if (listUnscopedCapabilities(agent.capabilities).length > 0) {
    await assertCalledService(deps, agent, said, caller.viaRelay);
    return undefined;
  }
  return {
    calledCondition: requireCalledAgent(said.tool_call_id, agent),
    assertCalled: () => assertCalledService(deps, agent, said, caller.viaRelay),
  };
};

/** Only Parley writes of a task which call it is the command of. */
const isCommandForCall = ({ extensions }: Task, turn: string, toolCall: string): boolean => {
  const ground = getCommonGroundExtensions(extensions);
  const call = ground && getToolCall(ground);
  return call?.turn === turn && call.toolCall === toolCall;
};

const assertCalledService = async (
  deps: Deps,
  { project, id, capabilities }: Agent,
  { agent_id, agent_turn_id, tool_call_id }: z.output<typeof Wire>,
  byRelay?: true,
): Promise<void> => {
  const task = await deps.records.get(taskRef(project, toToolCallTaskId(agent_turn_id, tool_call_id)));
  const command = task && isCommandForCall(task, agent_turn_id, tool_call_id) ? task : undefined;
  // Whoever of a capability has taken it up is who was called.
  const isServed =
    command?.holder === undefined &&
    command?.routingCapability !== undefined &&
    capabilities.includes(command.routingCapability);
  if (command && (isServed || [command.to, command.holder].includes(id))) return;
  // Its service hears a command on NATS as soon as Parley does, and may report before; the relay then brings the report again.
  if (byRelay && !command)
    throw new ParleyError('task_not_found', `No command with the call ${tool_call_id} is known.`);
  throw new ParleyError(
    'forbidden',
    `${id} was not called with ${tool_call_id}: only the service that the call went to, ${agent_id} itself, a coordinator or an admin key may report on it.`,
  );
};
