import { parseCardControl } from '../../cards/card.ts';
import { unknownCardsError } from '../../cards/put-card.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import { type Agent, listUnscopedCapabilities } from '../../identity/agents/agent.ts';
import { COORDINATOR_ROLE } from '../../identity/agents/agent-control.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import { listUsableChannels } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { createChildSpan, type Trace } from '../../kernel/trace.ts';
import { agentStateRef, type ToolReport } from '../../model/agent-state.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { getToolCall, toToolCallTaskId } from '../../model/tool-call.ts';
import { requireCalledAgent } from './guard.ts';
import { checkIgnored, type IgnoredReason, type ReporterCheck, recordToolReport } from './record-report.ts';

export interface ReceivedReport extends Pick<ToolReport, 'type' | 'status' | 'afterExecution' | 'card'> {
  agent: string;
  turn: string;
  epoch: number;
  toolCall: string;
}

/** One blind write. The card decides before the report itself, and the id of the card tells its decision. */
export const receiveReport = async (
  deps: Deps,
  caller: Caller,
  report: ReceivedReport,
  depth: number | undefined,
  trace: Trace,
  channel?: string,
): Promise<{ ignored?: IgnoredReason }> => {
  const { project } = caller;
  const { agent, turn, epoch, toolCall, card, type, status } = report;
  const holder = { project, agent, turn, epoch };
  const control = parseCardControl(project, card);
  const reporter = await resolveReporterCheck(deps, caller, report);
  if (!control) {
    await reporter?.assertCalled();
    const head = await deps.records.get(agentStateRef(project, holder.agent));
    // A report that nobody waits for changes nothing.
    const ignored = head ? checkIgnored(head, holder, toolCall) : 'late';
    if (ignored) return { ignored };
    throw unknownCardsError([card]);
  }
  return recordToolReport(
    deps,
    holder,
    toolCall,
    { depth, channel, channels: listUsableChannels(caller) },
    {
      type,
      status,
      afterExecution: control.wanted ?? report.afterExecution,
      card,
      ...createChildSpan(trace),
    },
    reporter,
  );
};

/** A tool reports for itself, a worker for the tools that it runs. Undefined: allowed. */
const resolveReporterCheck = async (
  deps: Deps,
  caller: Caller,
  report: ReceivedReport,
): Promise<ReporterCheck | undefined> => {
  if (caller.role === 'admin') return undefined;
  const { agent } = caller.registered;
  if (agent.id === report.agent || agent.role === COORDINATOR_ROLE) return undefined;
  // A call by capability: another provider may have claimed it.
  if (listUnscopedCapabilities(agent.capabilities).length > 0) {
    await assertCalledService(deps, agent, report, caller.viaRelay);
    return undefined;
  }
  return {
    calledCondition: requireCalledAgent(report.toolCall, agent),
    assertCalled: () => assertCalledService(deps, agent, report, caller.viaRelay),
  };
};

/** Only Parley writes these extensions. */
const isCommandForCall = ({ extensions }: Task, turn: string, toolCall: string): boolean => {
  const call = getToolCall(turnProtocol.findTaskLink(extensions));
  return call?.turn === turn && call.toolCall === toolCall;
};

const assertCalledService = async (
  deps: Deps,
  { project, id, capabilities }: Agent,
  { agent, turn, toolCall }: ReceivedReport,
  byRelay?: true,
): Promise<void> => {
  const task = await deps.records.get(taskRef(project, toToolCallTaskId(turn, toolCall)));
  const command = task && isCommandForCall(task, turn, toolCall) ? task : undefined;
  // The provider that claimed it.
  const isServed =
    command?.holder === undefined &&
    command?.routingCapability !== undefined &&
    capabilities.includes(command.routingCapability);
  if (command && (isServed || [command.to, command.holder].includes(id))) return;
  // A service on NATS may report before Parley has the command; the relay then sends the report again.
  if (byRelay && !command) throw new ParleyError('task_not_found', `No command with the call ${toolCall} is known.`);
  throw new ParleyError(
    'forbidden',
    `${id} was not called with ${toolCall}: only the service that the call went to, ${agent} itself, a coordinator or an admin key may report on it.`,
  );
};
