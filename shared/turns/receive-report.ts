import type * as z from 'zod';
import type { Caller } from '../agents/authenticate.ts';
import { usableBy } from '../agents/channels.ts';
import { COORDINATOR } from '../agents/orders.ts';
import { requireCards } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import type { ToolReport as Wire } from '../dialects/common-ground/payloads.ts';
import { ParleyError } from '../errors.ts';
import { isObject } from '../json/json.ts';
import { loaded } from '../tasks/content.ts';
import { taskRef } from '../tasks/task.ts';
import { childOf, type Trace } from '../trace.ts';
import { headRef, type ToolReport } from './head.ts';
import { type Ignored, ignoredBy, report } from './report.ts';
import { callIdOf, controlIn } from './tool-call.ts';

/** A report as a tool sends it. What its card says should happen comes before what the report itself says. */
export const receiveReport = async (
  deps: Deps,
  caller: Caller,
  said: z.output<typeof Wire>,
  depth: number,
  trace: Trace,
  channel?: string,
): Promise<{ ignored?: Ignored }> => {
  const { project } = caller;
  await refuseStrangers(deps, caller, said);
  const holder = { project, agent: said.agent_id, turn: said.agent_turn_id, epoch: said.turn_epoch };
  const override = await overrideIn(deps, project, said.tool_result_card_id).catch(async (error: unknown) => {
    // What nobody waits for any more may have outlived its card.
    const head = await deps.records.get(headRef(project, holder.agent));
    if (!head || ignoredBy(head, holder, said.tool_call_id)) return undefined;
    throw error;
  });
  return report(
    deps,
    holder,
    said.tool_call_id,
    { depth, channel, channels: usableBy(caller) },
    {
      type: said.message_type,
      status: said.status,
      afterExecution: override ?? said.after_execution,
      card: said.tool_result_card_id,
      ...childOf(trace),
    },
  );
};

/** A tool speaks for itself, and a worker for the tools that it runs on its own. */
const refuseStrangers = async (
  deps: Deps,
  caller: Caller,
  { agent_id, agent_turn_id, tool_call_id }: z.output<typeof Wire>,
): Promise<void> => {
  if (caller.role === 'admin') return;
  const { id, role, capabilities } = caller.known.agent;
  if (id === agent_id || role === COORDINATOR) return;
  const command = await deps.records.get(taskRef(caller.project, callIdOf(agent_turn_id, tool_call_id)));
  const isServed = command?.skill !== undefined && capabilities.includes(command.skill);
  if (command && (isServed || [command.to, command.holder].includes(id))) return;
  throw new ParleyError(
    'forbidden',
    `${id} was not called with ${tool_call_id}: only the service that the call went to, ${agent_id} itself, a coordinator or an admin key may report on it.`,
  );
};

/** `content.result.__cg_control.after_execution`, where it is there and one of the two. */
const overrideIn = async (
  deps: Deps,
  project: string,
  id: string,
): Promise<ToolReport['afterExecution'] | undefined> => {
  const [card] = await requireCards(deps, project, [id]);
  const content = card && (await loaded(deps.blobs, project, card.content));
  return controlIn(isObject(content) ? content.result : undefined);
};
