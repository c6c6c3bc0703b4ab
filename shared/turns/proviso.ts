import { type Agent, skillsAmong } from '../agents/agent.ts';
import { ParleyError } from '../errors.ts';
import { absent, all, type Condition, is, oneOf } from '../ports/conditions.ts';
import type { Write } from '../ports/records.ts';
import type { Proviso } from '../tasks/submit.ts';
import type { Trace } from '../trace.ts';
import { newEdge } from './edge.ts';
import { type Head, headRef, isHead, ownIn } from './head.ts';
import { gated, isGated, stale, waitsFor } from './rules.ts';
import { callIdOf, type ToolCall } from './tool-call.ts';

/** Who does the work of a call: an agent, or whoever has a capability. */
export interface Service {
  agent?: string;
  capability: string;
}

/** As the head knows it; no agent has such a name as a capability gets. */
const nameOf = ({ agent, capability }: Service): string => agent ?? `@${capability}`;

/** Whether the agent is who was called. */
export const calledFor = (toolCall: string, { id, capabilities }: Pick<Agent, 'id' | 'capabilities'>): Condition =>
  oneOf(`called.${toolCall}`, id, ...skillsAmong(capabilities).map((capability) => nameOf({ capability })));

/** That the turn still waits for the call, until the call's deadline, and that nothing else does its work. */
export const provisoOf = (
  call: ToolCall,
  head: Head,
  deadline: number,
  service: Service | undefined,
  trace: Trace,
  { now, keepMs, print }: { now: number; keepMs: number; print: string },
): Proviso => {
  const { turn, epoch, toolCall, depth } = call;
  const facts = { correlation: callIdOf(turn, toolCall), depth, turn, happenedAt: now, fingerprint: print, ...trace };
  const edge = newEdge(head.project, 'tool_call', 'request', { ...facts, expires: now + keepMs });
  return {
    writes: [waits(call, head, deadline, service), { kind: 'create', item: { ...edge } }],
    refused: (at, current) => {
      if (at !== 0) return callReused(toolCall);
      const found = current && isHead(current) ? current : undefined;
      return found && isGated(call, found) && ownIn(found.waiting, toolCall) === 'waiting'
        ? new Moved(toolCall)
        : stale({ turn, epoch }, found);
    },
  };
};

/** Where the call has less time than the turn gives it, the head is looked at in time; it must then have been seen as it is. */
const waits = (call: ToolCall, head: Head, deadline: number, service: Service | undefined): Write => {
  const { toolCall } = call;
  const key = headRef(head.project, head.agent);
  // Nothing can be put into a map that is not there, and the head of a turn that was suspended by an earlier version has none.
  const isFirst = service !== undefined && head.called === undefined;
  const isWaiting = all(gated(call).holds, waitsFor(toolCall).holds, ...(isFirst ? [absent('called')] : []));
  const name = service && nameOf(service);
  const called = name && (isFirst ? { called: { [toolCall]: name } } : { [`called.${toolCall}`]: name });
  const { deadline: first = deadline, due = deadline } = head;
  if (deadline >= (ownIn(head.deadlines, toolCall) ?? deadline)) {
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
  return { kind: 'update', key, change: { if: all(isWaiting, is('deadline', first)), set } };
};

class Moved extends ParleyError {
  constructor(toolCall: string) {
    super('conflict', `Other calls of the turn were in the way of the call ${toolCall}. Try again.`);
  }
}

/** Calls of one turn that come at once and have little time are written one after the other. */
const TRIES = 5;

export const untilUnmoved = async <T>(call: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Moved) || tries === TRIES) throw error;
    }
  }
};

export const callReused = (toolCall: string): ParleyError =>
  new ParleyError(
    'id_reused',
    `Something else was asked for under the tool call ${toolCall} of this turn. Repeat a call unchanged; give a new one a new id.`,
  );
