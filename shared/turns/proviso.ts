import { ParleyError } from '../errors.ts';
import { all } from '../ports/conditions.ts';
import type { Item, Write } from '../ports/records.ts';
import type { Trace } from '../trace.ts';
import { newEdge } from './edge.ts';
import { headRef, isHead } from './head.ts';
import { gated, stale, waitsFor } from './rules.ts';
import { callIdOf, type ToolCall } from './tool-call.ts';

/** What is written together with the work of a call, and on which that depends. */
export interface Proviso {
  writes: Write[];
  /** Why nothing was written, if it was for one of them, by its number. */
  refused(at: number, current?: Item): ParleyError;
}

/** That the turn still waits for the call, and that nothing else does its work. */
export const provisoOf = (project: string, call: ToolCall, trace: Trace, now: number, keepMs: number): Proviso => {
  const { agent, turn, epoch, toolCall, depth } = call;
  const facts = { correlation: callIdOf(turn, toolCall), depth, turn, happenedAt: now, ...trace };
  const edge = newEdge(project, 'tool_call', 'request', { ...facts, expires: now + keepMs });
  return {
    writes: [
      { kind: 'check', key: headRef(project, agent), if: all(gated(call).holds, waitsFor(toolCall).holds) },
      { kind: 'create', item: { ...edge } },
    ],
    refused: (at, current) =>
      at === 0 ? stale({ turn, epoch }, current && isHead(current) ? current : undefined) : callReused(toolCall),
  };
};

export const callReused = (toolCall: string): ParleyError =>
  new ParleyError(
    'id_reused',
    `Something else was asked for under the tool call ${toolCall} of this turn. Repeat a call unchanged; give a new one a new id.`,
  );
