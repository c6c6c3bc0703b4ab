import { type Caller, find, nameOf } from '../agents/authenticate.ts';
import { membersOn, oneOfMembers, PUBLIC, refuseOtherChannels } from '../agents/channels.ts';
import { requireBox } from '../cards/box.ts';
import { requireCards } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import type { GroundOrder } from '../dialects/common-ground/decode.ts';
import { completed, traceOfHeaders } from '../dialects/common-ground/headers.ts';
import { COMMON_GROUND } from '../dialects/common-ground/name.ts';
import { ParleyError } from '../errors.ts';
import { fingerprint } from '../json/fingerprint.ts';
import type { JsonObject } from '../json/json.ts';
import type { Request } from '../messages/command.ts';
import { type Proviso, submit } from '../tasks/submit.ts';
import { findTool } from '../tools/register-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { childOf, type Trace } from '../trace.ts';
import { edgeRef } from './edge.ts';
import { violation } from './enqueue.ts';
import { type Head, headRef, ownIn } from './head.ts';
import { callReused, provisoOf, type Service, untilUnmoved } from './proviso.ts';
import { isGated, stale } from './rules.ts';
import { callIdOf, type Ground, type ToolCall } from './tool-call.ts';

type Order = Extract<GroundOrder, { do: 'callTool' | 'callInternal' }>;

/** A call that its turn really waits for, and until when. */
export interface Checked {
  call: ToolCall;
  id: string;
  /** Of the command, which may come again. */
  print: string;
  deadline: number;
  /** Its own, or else that of the turn: what is called is part of the same. */
  trace: Trace;
  /** For what does its work: whoever is called may report on it. */
  proviso: (service?: Service) => Proviso;
}

/** What a tool command must agree with: the turn that its sender holds, its depth and channel, and the registered tool. */
export const checkedCall = async (deps: Deps, caller: Caller, order: Order): Promise<Checked | 'answered'> => {
  const { payload, subject } = order;
  const { agent_id: agent, agent_turn_id: turn, turn_epoch: epoch, tool_call_id: toolCall } = payload;
  if (caller.role === 'agent' && caller.known.agent.id !== agent) {
    throw new ParleyError('from_mismatch', `The key belongs to ${nameOf(caller)}, not to ${agent}.`);
  }
  const tool = payload.tool_name === undefined ? undefined : await findTool(deps, caller.project, payload.tool_name);
  const told = `${subject.category}.${subject.component}.${subject.target}.${subject.suffix}`;
  if (tool && tool.targetSubject !== told) {
    throw violation('subject', `The tool ${tool.name} takes commands on ${tool.targetSubject}, not on ${told}.`);
  }
  const head = await deps.records.get(headRef(caller.project, agent));
  if (!head?.active || !isGated({ turn, epoch }, head)) throw stale({ turn, epoch }, head);
  const print = fingerprint([order.text, order.sent]);
  if (ownIn(head.waiting, toolCall) !== 'waiting') return answered(deps, head, { turn, toolCall }, print);
  const { depth, channel, callers } = head.active;
  if (order.depth !== undefined && order.depth !== depth) {
    throw violation('recursion_depth', `The recursion depth is ${order.depth}, but the turn's is ${depth}.`);
  }
  if (subject.channel !== channel) {
    throw violation('channel', `The subject is of the channel ${subject.channel}, but the turn of ${channel}.`);
  }
  const afterExecution = payload.after_execution ?? tool?.afterExecution ?? 'suspend';
  const call = { agent, turn, epoch, toolCall, depth, channel, afterExecution, callers };
  const { traceparent, tracestate } = head.active;
  const trace = traceOfHeaders(order.headers) ?? childOf({ traceparent, tracestate });
  const now = deps.clock.now();
  const deadline = deadlineOf(now, head, toolCall, tool);
  const { keepMs } = deps.config.turns;
  const proviso = (service?: Service) => provisoOf(call, head, deadline, service, trace, { now, keepMs, print });
  return { call, id: callIdOf(turn, toolCall), print, deadline, trace, proviso };
};

/**
 * What comes again when the tool has reported asks for nothing more. A call that the turn has not begun to wait for is refused: its
 * tool may be faster than the caller's next call, and what it reports before would be lost.
 */
const answered = async (
  { records }: Deps,
  { project }: Head,
  { turn, toolCall }: Pick<ToolCall, 'turn' | 'toolCall'>,
  print: string,
): Promise<'answered'> => {
  const edge = await records.get(edgeRef(project, callIdOf(turn, toolCall), 'tool_call', 'request'));
  if (edge?.fingerprint === print) return 'answered';
  if (edge) throw callReused(toolCall);
  throw violation('tool_call_id', `The turn does not wait for the tool call ${toolCall}. Suspend it first, then call.`);
};

/** The tool's own time, if that is shorter than what the turn gives it. */
const deadlineOf = (now: number, { deadlines }: Head, toolCall: string, tool: Tool | undefined): number => {
  const given = ownIn(deadlines, toolCall) ?? now;
  const seconds = tool?.options.deadline_seconds;
  return typeof seconds === 'number' ? Math.min(given, now + seconds * 1000) : given;
};

/** Puts the command into the queue of whoever serves its subject's target: an agent, or all that have it as a capability. */
export const callTool = (deps: Deps, caller: Caller, order: Order) =>
  untilUnmoved(() => queueCommand(deps, caller, order));

const queueCommand = async (deps: Deps, caller: Caller, order: Order) => {
  const checked = await checkedCall(deps, caller, order);
  const { agent_turn_id: turn, tool_call_id: toolCall } = order.payload;
  if (checked === 'answered') return { duplicate: true, taskId: callIdOf(turn, toolCall) };
  const { call, id, trace } = checked;
  const { target } = order.subject;
  const { tool_call_card_id: card, context_box_id: box } = order.payload;
  await Promise.all([
    requireCards(deps, caller.project, card === undefined ? [] : [card]),
    requireBox(deps, caller.project, box),
  ]);
  const agent = await serviceFor(deps, caller.project, target, call.channel);
  const request = requestOf(deps, order, checked, agent);
  const proviso = checked.proviso({ agent, capability: target });
  const { duplicate } = await submit(deps, caller, COMMON_GROUND, request, trace, proviso);
  return { duplicate, taskId: id };
};

/** The agent that gets the command; undefined where it is for whoever of the target's capability comes first. */
const serviceFor = async (
  deps: Deps,
  project: string,
  target: string,
  channel: string,
): Promise<string | undefined> => {
  const service = await find(deps, project, target);
  if (service) {
    refuseOtherChannels(service.agent, channel);
    return target;
  }
  if (channel === PUBLIC) return undefined;
  const member = oneOfMembers(await membersOn(deps, project, target, channel));
  if (member !== undefined) return member;
  throw new ParleyError(
    'channel_forbidden',
    `None of the agents with the capability ${target} may use the channel ${channel}.`,
    { facts: { channel } },
  );
};

const requestOf = (
  deps: Deps,
  order: Order,
  { call, id, print, deadline, trace }: Checked,
  to: string | undefined,
): Request => {
  const { subject, sent, headers, text } = order;
  const now = deps.clock.now();
  const missing = { at: now, type: `${subject.category}.${subject.component}.${subject.suffix}`, sender: call.agent };
  const commonGround: Ground = {
    subject: text,
    headers: { ...completed(headers, missing, trace), 'CG-Recursion-Depth': String(call.depth) },
    channel: call.channel,
    depth: call.depth,
    call: { ...call },
  };
  const carried: JsonObject = { commonGround };
  return {
    kind: 'request',
    messageId: id,
    taskId: id,
    fingerprint: print,
    from: call.agent,
    to,
    isBoundedByDepth: true,
    // Only the target decides who gets it, not what the tool is called.
    capability: to === undefined ? subject.target : (order.payload.tool_name ?? subject.suffix),
    priority: 'normal',
    ttlSeconds: Math.max(1, Math.ceil((deadline - now) / 1000)),
    input: sent,
    carried,
    trace,
  };
};
