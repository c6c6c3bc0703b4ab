import * as z from 'zod';
import { getDialect } from '../../dialects/registry.ts';
import { listUnscopedCapabilities } from '../../identity/agents/agent.ts';
import { type Caller, findAgent, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { createChildSpan } from '../../kernel/trace.ts';
import type { CommandResult } from '../../model/command.ts';
import { listWaitingAgents } from '../../model/tool-call.ts';
import { enqueueTurn } from '../lifecycle/enqueue.ts';
import { createToolResultCard } from '../lifecycle/result-cards.ts';
import type { ValidatedCall } from './call-tool.ts';
import { recordToolReport } from './record-report.ts';

export const callTarget = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be an agent or a capability');
export const callInstruction = z.string().min(1).max(16_384);
export const callContextBox = z.string().min(1).max(128).optional();
export const TargetStrategy = z.enum(['new', 'reuse', 'clone']);

export const DelegateArguments = z.strictObject({
  target_strategy: TargetStrategy.default('reuse'),
  target_ref: callTarget,
  instruction: callInstruction,
  context_box_id: callContextBox,
});

export const DelegateAsyncArguments = z.object({ ...DelegateArguments.shape, target_strategy: TargetStrategy });

export const LaunchPrincipalArguments = z.object({ profile_name: callTarget, instruction: callInstruction });

export const AskExpertArguments = z.object({
  expert_profile: callTarget,
  question: callInstruction,
  include_history: z
    .literal(false, 'is not supported: give the history as context_box_id to delegate_async')
    .optional(),
});

/** `reuse` is the agent itself; `new` and `clone` are any agent of its group, if it has one. */
export const resolveCallTarget = async (
  deps: Deps,
  project: string,
  strategy: z.output<typeof TargetStrategy>,
  ref: string,
): Promise<string> => {
  if (strategy === 'reuse') return ref;
  const agent = (await findAgent(deps, project, ref))?.agent;
  if (!agent || !getDialect(agent.dialect).usesTurns) return ref;
  const [group] = listUnscopedCapabilities(agent.capabilities);
  return group ?? ref;
};

type Delegation = z.input<typeof DelegateArguments>;

const buildDelegatedRequest = async (
  deps: Deps,
  { project }: Caller,
  { call, id, trace, headers }: ValidatedCall,
  { target_strategy = 'reuse', target_ref, instruction, context_box_id }: Delegation,
) => ({
  agent: await resolveCallTarget(deps, project, target_strategy, target_ref),
  correlation: id,
  mode: 'call',
  channel: call.channel,
  depth: call.depth + 1,
  contextBox: context_box_id,
  payload: { instruction },
  headers,
  trace,
  protocolVersion: call.protocolVersion,
});

/** Its end is the result of the call. */
export const createDelegatedTurn = async (
  deps: Deps,
  caller: Caller,
  checked: ValidatedCall,
  wanted: Delegation,
): Promise<CommandResult> => {
  const { call, buildGuard } = checked;
  const request = {
    ...(await buildDelegatedRequest(deps, caller, checked, wanted)),
    from: getCallerName(caller),
    callers: listWaitingAgents(call),
    parent: call,
  };
  const { turn, duplicate } = await enqueueTurn(deps, caller, request, buildGuard());
  return { duplicate, agentTurnId: turn };
};

/** The call has its result as soon as the turn is queued. */
export const createDetachedTurn = async (
  deps: Deps,
  caller: Caller,
  checked: ValidatedCall,
  wanted: Delegation,
): Promise<CommandResult> => {
  const { call, trace, buildGuard } = checked;
  const request = { ...(await buildDelegatedRequest(deps, caller, checked, wanted)), from: call.agent };
  const { turn, duplicate } = await enqueueTurn(deps, caller, request, buildGuard());
  const { afterExecution } = call;
  const result = {
    status: 'accepted',
    agent_id: request.agent,
    agent_turn_id: turn,
    turn_epoch: 0,
    context_box_id: request.contextBox,
  };
  const card = await createToolResultCard(deps, caller.project, { status: 'success', afterExecution, result });
  const report = { type: 'tool_result', status: 'success', afterExecution, card } as const;
  const target = { ...call, project: caller.project };
  await recordToolReport(deps, target, call.toolCall, call, { ...report, ...createChildSpan(trace) });
  return { duplicate, agentTurnId: turn };
};
