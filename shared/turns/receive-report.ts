import type * as z from 'zod';
import type { Agent } from '../agents/agent.ts';
import type { Caller } from '../agents/authenticate.ts';
import { usableBy } from '../agents/channels.ts';
import { COORDINATOR } from '../agents/orders.ts';
import { controlOf } from '../cards/card.ts';
import { unknownCards } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import type { ToolReport as Wire } from '../dialects/common-ground/payloads.ts';
import { ParleyError } from '../errors.ts';
import { taskRef } from '../tasks/task.ts';
import { childOf, type Trace } from '../trace.ts';
import { headRef } from './head.ts';
import { calledFor } from './proviso.ts';
import { type Ignored, ignoredBy, type Reporter, report } from './report.ts';
import { callIdOf } from './tool-call.ts';

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
): Promise<{ ignored?: Ignored }> => {
  const { project } = caller;
  const holder = { project, agent: said.agent_id, turn: said.agent_turn_id, epoch: said.turn_epoch };
  const control = controlOf(project, said.tool_result_card_id);
  const reporter = reporterOf(deps, caller, said);
  if (!control) {
    await reporter?.refuseOthers();
    const head = await deps.records.get(headRef(project, holder.agent));
    // What nobody waits for any more changes nothing, whatever it says.
    const ignored = head ? ignoredBy(head, holder, said.tool_call_id) : 'late';
    if (ignored) return { ignored };
    throw unknownCards([said.tool_result_card_id]);
  }
  return report(
    deps,
    holder,
    said.tool_call_id,
    { depth, channel, channels: usableBy(caller) },
    {
      type: said.message_type,
      status: said.status,
      afterExecution: control.wanted ?? said.after_execution,
      card: said.tool_result_card_id,
      ...childOf(trace),
    },
    reporter,
  );
};

/** A tool speaks for itself, and a worker for the tools that it runs on its own. */
const reporterOf = (deps: Deps, caller: Caller, said: z.output<typeof Wire>): Reporter | undefined => {
  if (caller.role === 'admin') return undefined;
  const { agent } = caller.known;
  if (agent.id === said.agent_id || agent.role === COORDINATOR) return undefined;
  return {
    isCalled: calledFor(said.tool_call_id, agent),
    refuseOthers: () => refuseStrangers(deps, agent, said),
  };
};

const refuseStrangers = async (
  deps: Deps,
  { project, id, capabilities }: Agent,
  { agent_id, agent_turn_id, tool_call_id }: z.output<typeof Wire>,
): Promise<void> => {
  const command = await deps.records.get(taskRef(project, callIdOf(agent_turn_id, tool_call_id)));
  const isServed = command?.skill !== undefined && capabilities.includes(command.skill);
  if (command && (isServed || [command.to, command.holder].includes(id))) return;
  throw new ParleyError(
    'forbidden',
    `${id} was not called with ${tool_call_id}: only the service that the call went to, ${agent_id} itself, a coordinator or an admin key may report on it.`,
  );
};
