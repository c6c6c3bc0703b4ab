import type { Agent } from '../agents/agent.ts';
import { type Caller, find, nameOf } from '../agents/authenticate.ts';
import { isOn, mayUse, refuseOtherChannels } from '../agents/channels.ts';
import { batchEnded, batchRef } from '../batches/batch.ts';
import { requireBox } from '../cards/box.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { fingerprint } from '../json/fingerprint.ts';
import type { JsonObject } from '../json/json.ts';
import { refuseTooLarge } from '../json/size.ts';
import { is } from '../ports/conditions.ts';
import type { Fresh, Write } from '../ports/records.ts';
import type { Proviso } from '../tasks/submit.ts';
import type { Joins } from '../tasks/task.ts';
import { childOf, type Trace } from '../trace.ts';
import { edgeRef, newEdge } from './edge.ts';
import { membersOf } from './group-queues.ts';
import { callReused } from './proviso.ts';
import { refusedTurn } from './refused-turn.ts';
import type { ToolCall } from './tool-call.ts';
import { type QueuedTurn, queuedKey, type Turn, turnRef } from './turn.ts';

export interface Enqueue {
  /** Where whoever asks must know it beforehand. */
  id?: string;
  /** An agent, or a group: whoever has that capability. */
  agent: string;
  correlation: string;
  mode: string;
  channel: string;
  /** At a user's entry it may be missing, and is 0; or what is wrong with what was said. */
  depth?: number | ParleyError;
  contextBox?: string;
  payload?: JsonObject;
  headers?: JsonObject;
  trace: Trace;
  /** Who asks, where that is not whose key it is. */
  from?: string;
  /** The agents whose turns, or tasks, will wait for this one, the nearest last. */
  callers?: string[];
  parent?: ToolCall;
  joins?: Joins;
  /** The action of a user interface that the turn is. */
  action?: string;
}

export interface Enqueued {
  turn: string;
  inboxId: string;
  duplicate: boolean;
}

/** Puts a turn into the queue of an agent, once for each correlation id. What the protocol forbids is told as a turn that failed. */
export const enqueue = async (deps: Deps, caller: Caller, wanted: Enqueue, proviso?: Proviso): Promise<Enqueued> => {
  const { project } = caller;
  const prepared = await toEnqueue(deps, caller, wanted);
  if ('duplicate' in prepared) return prepared;
  const { turn, writes } = prepared;
  const made = await deps.records.transact([...writes, ...(proviso?.writes ?? [])], deps.newId());
  if (made.outcome === 'written') return { turn: turn.id, inboxId: turn.correlation, duplicate: false };
  if (wanted.joins && made.at === 0) throw batchEnded(wanted.joins.batch);
  const other = await deps.records.get(edgeRef(project, wanted.correlation, 'enqueue', 'request'));
  if (other && other.fingerprint === turn.fingerprint)
    return { turn: other.turn, inboxId: wanted.correlation, duplicate: true };
  if (proviso) throw proviso.refused(made.at - writes.length, made.current);
  throw await refusedTurn(deps, turn, reused(wanted.correlation));
};

/** What puts the turn into the queue, for whoever writes more with it; or that it is there. */
export const toEnqueue = async (
  deps: Deps,
  caller: Caller,
  wanted: Enqueue,
): Promise<Enqueued | { turn: Fresh<Turn>; writes: Write[] }> => {
  const { project } = caller;
  refuseTooLarge('The payload', wanted.payload ?? {}, deps.config.limits.carriedBytes);
  if (!mayUse(caller, wanted.channel) && caller.role === 'agent')
    refuseOtherChannels(caller.known.agent, wanted.channel);
  const target = await targetOf(deps, project, wanted.agent, wanted.channel);
  const { trace: _trace, depth: said = 0, ...content } = wanted;
  const from = wanted.from ?? nameOf(caller);
  const print = fingerprint({ ...content, from, depth: said instanceof Error ? said.message : said });
  const earlier = await deps.records.get(edgeRef(project, wanted.correlation, 'enqueue', 'request'));
  if (earlier?.fingerprint === print) return { turn: earlier.turn, inboxId: wanted.correlation, duplicate: true };
  const depth = said instanceof Error ? 0 : said;
  const turn = newTurn(deps, project, from, { ...wanted, depth }, target, print);
  // What did the work of the call before goes on, and must not be reported as failed.
  if (earlier && wanted.parent) throw callReused(wanted.parent.toolCall);
  const mistake = earlier
    ? reused(wanted.correlation)
    : (mistakeIn(deps, wanted, said) ?? (await circleIn(deps, project, wanted, target)));
  if (mistake) throw await refusedTurn(deps, turn, mistake);
  await requireBox(deps, project, wanted.contextBox);
  return { turn, writes: writesFor(turn) };
};

interface Target {
  isForGroup?: true;
  isTask?: true;
}

/** Who it is that a name stands for, if that may use the channel. */
export const targetOf = async (deps: Deps, project: string, name: string, channel: string): Promise<Target> => {
  const agent: Agent | undefined = (await find(deps, project, name))?.agent;
  if (agent) {
    refuseOtherChannels(agent, channel);
    return dialectNamed(agent.dialect).takesTurns ? {} : { isTask: true };
  }
  if ((await membersOf(deps, project, name)).length > 0) return { isForGroup: true };
  throw new ParleyError(
    'unknown_agent',
    `No agent ${name.slice(0, 64)} is registered, nor has any agent that leases turns that capability, so that nobody would ever hear of it.`,
  );
};

const mistakeIn = ({ config }: Deps, { mode }: Enqueue, depth: number | ParleyError): ParleyError | undefined => {
  if (mode !== 'call') {
    return violation('mode', `The mode ${mode.slice(0, 64)} is not supported: a turn is enqueued with the mode call.`);
  }
  if (depth instanceof Error) return depth;
  const { maxRecursionDepth } = config.turns;
  if (depth < maxRecursionDepth) return undefined;
  return new ParleyError(
    'recursion_depth_exceeded',
    `The recursion depth is ${depth}; calls run up to ${maxRecursionDepth - 1}. The chain of calls ends here.`,
    { facts: { recursion_depth: depth, max_recursion_depth: maxRecursionDepth } },
  );
};

/** An agent has one turn at a time: who waits for another cannot do a part of its work. */
const circleIn = async (
  deps: Deps,
  project: string,
  { agent, channel, callers = [] }: Enqueue,
  { isForGroup }: Target,
): Promise<ParleyError | undefined> => {
  if (callers.length === 0) return undefined;
  const able = isForGroup
    ? await membersOf(deps, project, agent, (page) => page.filter((one) => isOn(one, channel)))
    : [agent];
  if (able.length === 0 || !able.every((id) => callers.includes(id))) return undefined;
  const waits = `${able.join(', ')} would have to take a turn while its own waits for it: ${[...callers, agent].join(' → ')}.`;
  return violation('target_ref', `${waits} Call another agent, or do the work in the turn itself.`);
};

const reused = (correlation: string): ParleyError =>
  violation(
    'correlation_id',
    `Another turn was enqueued under the correlation id ${correlation}. Repeat a call unchanged; give a new one a new id.`,
  );

export const violation = (violated: string, message: string): ParleyError =>
  new ParleyError('protocol_violation', message, { facts: { violated } });

const newTurn = (
  deps: Deps,
  project: string,
  from: string,
  wanted: Enqueue & { depth: number },
  { isForGroup, isTask }: Target,
  print: string,
): Fresh<Turn> => {
  const now = deps.clock.now();
  const { agent, correlation, depth, channel, contextBox, payload, headers, callers, parent, joins, action } = wanted;
  const id = wanted.id ?? `turn_${deps.newId()}`;
  return {
    ...turnRef(project, id),
    sk: 'turn',
    project,
    id,
    agent,
    isForGroup,
    correlation,
    depth,
    channel,
    from,
    createdAt: now,
    contextBox,
    payload,
    headers,
    ...childOf(wanted.trace),
    fingerprint: print,
    callers,
    parent,
    joins,
    action,
    isTask,
    state: 'queued',
    rung: 0,
    due: isTask ? undefined : now + deps.config.turns.bellMs,
  };
};

/** Longer than a turn may wait and be kept: until then its correlation id is taken. */
const EDGE_KEPT_MS = 30 * 86_400_000;

const writesFor = (turn: Fresh<Turn>): Write[] => {
  const { project, correlation, depth, id, createdAt, fingerprint: print, traceparent } = turn;
  const expires = createdAt + EDGE_KEPT_MS;
  const edge = { correlation, depth, turn: id, happenedAt: createdAt, fingerprint: print, traceparent, expires };
  return [
    // A part is made only while its batch is open, so that none is left running.
    ...(turn.joins
      ? [{ kind: 'check' as const, key: batchRef(project, turn.joins.batch), if: is('status', 'open') }]
      : []),
    { kind: 'create', item: { ...newEdge(project, 'enqueue', 'request', edge) } },
    { kind: 'create', item: { ...turn } },
    ...(turn.isTask ? [] : [{ kind: 'create' as const, item: { ...queuedOf(turn) } }]),
  ];
};

const queuedOf = (turn: Fresh<Turn>): Fresh<QueuedTurn> => {
  const { correlation, depth, channel, from, createdAt, contextBox, payload, headers, callers } = turn;
  const { traceparent, tracestate } = turn;
  const asked = { correlation, depth, channel, from, createdAt, contextBox, payload, headers, callers };
  return { ...queuedKey(turn), turn: turn.id, ...asked, traceparent, tracestate };
};
