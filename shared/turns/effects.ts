import type { Batch, PartEnd } from '../batches/batch.ts';
import type { Effect } from '../dispatch/effect.ts';
import { iso } from '../json/iso.ts';
import type { RecordChange } from '../ports/records.ts';
import { isOpen, type Task } from '../tasks/task.ts';
import { newEdge, type Phase } from './edge.ts';
import { type About, turnEvent } from './events.ts';
import { type Active, type Head, ownIn, type Step, stateOf, type ToolReport, type TurnEnd } from './head.ts';
import { aboutTurn, taskEventOf } from './task-event.ts';
import { callIdOf, callIn, groundIn, type ToolCall } from './tool-call.ts';
import { type Turn, workIdOf } from './turn.ts';
import type { Bell, TurnEffect } from './turn-effect.ts';

const turnEffect = (effect: TurnEffect): Effect => ({ kind: 'turn', effect });

/** Everything that follows from one write to a head. */
export const headEffects = ({ before, after }: RecordChange<Head>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  const hasEnded = before?.turn !== undefined && after.turn === undefined;
  // The head has forgotten a turn that ended; what came before tells of it.
  const { turn, active } = hasEnded ? before : after;
  if (turn === undefined || active === undefined) return [];
  const { project, agent, epoch } = after;
  const about = aboutActive(after, active);
  const cause = `turn/${turn}:${after.v}`;
  if (before?.turn !== turn) effects.push(turnEffect({ do: 'lease', project, turn, agent, epoch, at: after.at }));
  if (stateOf(before) !== stateOf(after)) {
    effects.push({
      kind: 'announce',
      event: turnEvent(cause, 'evt.agent.state', after.at, agent, statePayload(after, turn), about),
    });
  }
  const step = after.steps !== before?.steps && !hasEnded ? after.step : undefined;
  if (step) effects.push(...stepEffects(after, step, turn, cause, about));
  effects.push(...bellsOf(before, after, turn, about));
  effects.push(...reportEdges(before, after, active, turn));
  effects.push(...callEffects(before, after, turn));
  if (active.task !== undefined && !hasEnded) {
    const taken = step && { ...step, turn, number: after.steps ?? 0 };
    effects.push(turnEffect({ do: 'renewTask', project, task: active.task, agent, step: taken }));
  }
  if (hasEnded && after.last) {
    const { turn: _turn, epoch: _epoch, toolCall: _call, ...end } = after.last;
    effects.push(turnEffect({ do: 'finish', project, turn, agent, steps: before.steps ?? 0, end }));
    effects.push(turnEffect({ do: 'ringIfQueued', project, agent, cause, at: after.at }));
  }
  return effects;
};

const aboutActive = ({ project, agent }: Head, { channel, depth, traceparent, tracestate }: Active): About => ({
  project,
  channel,
  depth,
  traceparent,
  tracestate,
  sender: agent,
});

const statePayload = (head: Head, turn: string) => ({
  agent_id: head.agent,
  agent_turn_id: turn,
  status: stateOf(head),
  turn_epoch: head.epoch,
  updated_at: iso(head.at),
  output_box_id: head.turn === undefined ? head.last?.outputBox : undefined,
});

const stepEffects = (head: Head, step: Step, turn: string, cause: string, about: About): Effect[] => {
  const payload = { agent_turn_id: turn, step_id: step.id, phase: step.phase, metadata: step.metadata };
  const number = head.steps ?? 0;
  return [
    { kind: 'announce', event: turnEvent(cause, 'evt.agent.step', step.at, head.agent, payload, about) },
    turnEffect({ do: 'keepStep', project: head.project, turn, number, step }),
  ];
};

/** The worker is woken when it can go on, and again where it seems not to know. */
const bellsOf = (before: Head | undefined, after: Head, turn: string, about: About): Effect[] => {
  const canGoOn = stateOf(before) === 'suspended' && stateOf(after) === 'running' && after.state === 'suspended';
  const isAgain = after.rungAt !== undefined && after.rungAt !== before?.rungAt;
  if (!canGoOn && !isAgain) return [];
  const reason = canGoOn ? 'resume' : 'again';
  const bell = { cause: `turn/${turn}:${after.v}`, at: after.at, target: after.agent, inboxId: turn, about } as const;
  return [turnEffect({ do: 'ring', bell: { ...bell, reason } })];
};

/** Reports that came with this write, under the ids of the calls that they answer. One that ends the turn is kept in no inbox. */
const reportEdges = (before: Head | undefined, after: Head, active: Active, turn: string): Effect[] => {
  const { project, last } = after;
  const came: [string, Pick<ToolReport, 'at' | 'traceparent'>][] = Object.entries(after.reports ?? {});
  const final = after.turn === undefined ? last?.toolCall : undefined;
  if (last && final !== undefined) came.push([final, { at: last.at, traceparent: active.traceparent }]);
  const fresh = came.filter(([toolCall]) => ownIn(before?.reports, toolCall) === undefined);
  return fresh.map(([toolCall, { at: happenedAt, traceparent }]) => {
    const correlation = callIdOf(turn, toolCall);
    const facts = { correlation, depth: active.depth, turn, happenedAt, traceparent };
    return turnEffect({ do: 'record', edge: newEdge(project, 'report', 'response', facts) });
  });
};

/** What does the work of a call is done when the tool has reported, and is stopped when nobody waits for it any more. */
const callEffects = (before: Head | undefined, after: Head, turn: string): Effect[] => {
  const { project, last } = after;
  const hasEnded = after.turn === undefined;
  const calls = Object.entries(before?.waiting ?? {}).filter(([, state]) => state === 'waiting');
  return calls.flatMap(([toolCall]): Effect[] => {
    const report = ownIn(after.reports, toolCall);
    if (report?.type === 'tool_result') return [turnEffect({ do: 'settleCall', project, turn, toolCall, report })];
    if (hasEnded && last?.toolCall === toolCall) {
      const said = { status: last.status, card: last.toolResultCard ?? '' };
      return [turnEffect({ do: 'settleCall', project, turn, toolCall, report: said })];
    }
    return hasEnded || report ? [turnEffect({ do: 'cancelCall', project, turn, toolCall })] : [];
  });
};

/** What follows for turns from a change of a task that does their work, or that they work on. */
export const taskTurnEffects = ({ before, after }: RecordChange<Task>): Effect[] => {
  if (!after) return [];
  const effects = stopWork(before, after);
  if (isOpen(after) || (before && !isOpen(before))) return effects;
  const ground = groundIn(after.carried);
  const call = ground && callIn(ground);
  if (call) effects.push(turnEffect({ do: 'reportTask', task: after, call }));
  else if (ground?.turn !== undefined) effects.push(turnEffect({ do: 'takeBack', task: after, turn: ground.turn }));
  return effects;
};

/** An agent of this protocol works on its task as a turn, which is not to go on when the task has ended without it, or is another's. */
const stopWork = (before: Task | undefined, { status, project, endedBy, attempt }: Task): Effect[] => {
  if (!before) return [];
  const hasEnded = status === 'cancelled' || status === 'expired' || (status === 'failed' && !endedBy);
  if (before.holder !== undefined && hasEnded) {
    return [turnEffect({ do: 'stopWork', project, turn: workIdOf(before) })];
  }
  // Since its last holder lost it, it has been queued once.
  const isAnothers = before.attempt > 0 && attempt > before.attempt;
  const lost = { ...before, entry: before.entry - 1 };
  return isAnothers ? [turnEffect({ do: 'stopWork', project, turn: workIdOf(lost) })] : [];
};

/** What follows for turns from a batch that does the work of a call. */
export const batchCallEffects = ({ before, after }: RecordChange<Batch>): Effect[] => {
  if (!after?.call) return [];
  if (!before) return [joinEdge(after, after.call, 'request')];
  if (before.status !== 'open' || after.status === 'open') return [];
  return [joinEdge(after, after.call, 'response'), turnEffect({ do: 'reportBatch', batch: after, call: after.call })];
};

const joinEdge = (
  { project, id: correlation, at: happenedAt, traceparent }: Batch,
  { depth, turn }: ToolCall,
  phase: Phase,
): Effect =>
  turnEffect({
    do: 'record',
    edge: newEdge(project, 'join', phase, { correlation, depth, turn, happenedAt, traceparent }),
  });

/** Everything that follows from one write to a turn. */
export const turnEffects = ({ before, after }: RecordChange<Turn>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  if (!before && after.isTask) effects.push(turnEffect({ do: 'handOver', turn: after }));
  if (after.state === 'queued' && !after.isTask && before?.rung !== after.rung) {
    effects.push(turnEffect({ do: 'ring', bell: enqueueBell(after) }));
  }
  if (after.end && !before?.end) effects.push(...endEffects(after, after.end));
  return effects;
};

const enqueueBell = (turn: Turn): Bell => ({
  cause: `turn/${turn.id}:${turn.v}`,
  at: turn.at,
  target: turn.agent,
  isForGroup: turn.isForGroup,
  inboxId: turn.correlation,
  reason: turn.rung === 0 ? 'enqueue' : 'again',
  about: aboutTurn(turn),
});

/** The one task event of the turn, and whoever waits for its end. */
const endEffects = (turn: Turn, end: TurnEnd): Effect[] => {
  const { project, correlation, depth, id, traceparent } = turn;
  const effects: Effect[] = [{ kind: 'announce', event: taskEventOf(turn, end) }];
  // Only what was enqueued is answered: a call that was refused may have named the correlation id of another.
  if (turn.fingerprint !== undefined) {
    const facts = { correlation, depth, turn: id, happenedAt: end.at, traceparent };
    effects.push(turnEffect({ do: 'record', edge: newEdge(project, 'enqueue', 'response', facts) }));
  }
  if (turn.parent) effects.push(turnEffect({ do: 'reportTurn', turn, call: turn.parent, end }));
  if (turn.task !== undefined) effects.push(turnEffect({ do: 'endTask', turn, end }));
  if (turn.isTask) effects.push(turnEffect({ do: 'cancelHanded', project, turn: id }));
  if (turn.action !== undefined) effects.push(turnEffect({ do: 'endAction', project, action: turn.action, end }));
  if (turn.joins) effects.push({ kind: 'join', project, joins: turn.joins, end: partEndOf(end) });
  return effects;
};

const partEndOf = ({ status, error, errorCode }: TurnEnd): PartEnd => {
  if (status === 'success' || status === 'partial') return { status: 'completed' };
  const told = { code: errorCode ?? status, message: error ?? `It ended ${status}.` };
  return { status: status === 'canceled' ? 'cancelled' : 'failed', error: told };
};
