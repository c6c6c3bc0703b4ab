import assert from 'node:assert/strict';
import baseConfig from '../../parley.config.ts';
import type { AgentState } from '../../shared/model/agent-state.ts';

const { startTimeoutMs, heartbeatTimeoutMs, toolTimeoutMs } = baseConfig.turns;

/** Which turn its holder believes to have. */
interface Gate {
  turn: string;
  epoch: number;
}

export type Op =
  | { do: 'enqueue'; turn: string }
  | { do: 'stopQueued'; turn: string }
  | { do: 'lease'; leaseId?: string }
  | { do: 'watch' }
  | Gated;

type Gated = Gate &
  (
    | { do: 'start' | 'stop' }
    | { do: 'step'; step: string }
    | { do: 'suspend'; calls: string[] }
    | { do: 'report'; call: string; terminate: boolean }
    | { do: 'deliver'; card: string }
  );

interface Active {
  turn: string;
  state: 'dispatched' | 'running' | 'suspended';
  leaseId?: string;
  /** The last sign of life; of a turn that was not started, its lease. */
  aliveAt: number;
  step?: string;
  steps: number;
  calls: Record<string, 'waiting' | 'received' | 'expired'>;
  /** Those that it waited for last, and until when. */
  round: string[];
  deadline: number;
}

interface End {
  status: string;
  by: 'worker' | 'tool' | 'stop' | 'stop in the queue' | 'reaping';
}

/** What an agent and its turns must be after a history of moves, said once more and in another way than the system says it. */
export interface Model {
  now: number;
  known: string[];
  queue: { at: number; turn: string }[];
  epoch: number;
  active?: Active;
  /** The turn that the agent had last. */
  last?: Gate & End & { card?: string };
  ended: Record<string, End>;
  /** Every event, in the order of the alphabet. */
  told: string[];
}

export const newModel = (now: number): Model => ({ now, known: [], queue: [], epoch: 0, ended: {}, told: [] });

/** What a lease brings, as a text. */
export const leaseText = (turn: string, epoch: number, rows: string[]): string =>
  `${turn}/${epoch}: ${rows.toSorted().join()}`;

interface Outcome {
  model: Model;
  /** Any of which is right. */
  answers: string[];
}

const same = (model: Model, ...answers: string[]): Outcome => ({ model, answers });
const tell = (model: Model, ...events: string[]): Model => ({ ...model, told: [...model.told, ...events].toSorted() });
const isOpen = ({ round, calls }: Active): boolean => round.some((call) => calls[call] === 'waiting');
const isRunning = (active: Active): boolean =>
  active.state === 'running' || (active.state === 'suspended' && !isOpen(active));

/** The active turn changes, and its state is told where it is another to those who look. */
const changed = (model: Model, before: Active, change: Partial<Active>): Model => {
  const active = { ...before, ...change };
  const [was, is] = [before, active].map((one) => (isRunning(one) ? 'running' : one.state));
  const next = { ...model, active };
  return was === is ? next : tell(next, `state ${active.turn} ${is} ${model.epoch}`);
};

const ended = (model: Model, { turn }: Active, end: End, more: { card?: string; raise?: number } = {}): Model => {
  const epoch = model.epoch + (more.raise ?? 0);
  const last = { turn, epoch: model.epoch, card: more.card, ...end };
  const { active: _active, ...rest } = model;
  const idle = { ...rest, epoch, last, ended: { ...model.ended, [turn]: end } };
  return tell(idle, `state ${turn} idle ${epoch}`, `task ${turn} ${end.status}`);
};

/** What time alone does, if it has come to that. */
export const timePassed = (model: Model): Model | undefined => {
  const { active, now } = model;
  if (!active) return undefined;
  if (active.state === 'suspended' && isOpen(active)) {
    if (active.deadline > now) return undefined;
    const calls = Object.entries(active.calls).map(([call, is]) => [call, is === 'waiting' ? 'expired' : is]);
    return changed(model, active, { calls: Object.fromEntries(calls), aliveAt: now });
  }
  const silentMs = active.state === 'dispatched' ? startTimeoutMs : heartbeatTimeoutMs;
  if (active.aliveAt + silentMs > now) return undefined;
  return ended(model, active, { status: 'failed', by: 'reaping' }, { raise: 1 });
};

const lease = (model: Model, leaseId: string | undefined): Outcome => {
  const { active, queue, now } = model;
  if (!active) {
    const [first, ...rest] = queue;
    if (!first) return same(model, 'nothing');
    const { turn } = first;
    const epoch = model.epoch + 1;
    const begun = { turn, state: 'dispatched' as const, leaseId, aliveAt: now, steps: 0, calls: {} };
    const next = { ...model, queue: rest, epoch, active: { ...begun, round: [], deadline: 0 } };
    return same(tell(next, `state ${turn} dispatched ${epoch}`), leaseText(turn, epoch, [turn]));
  }
  const { turn, round, calls } = active;
  const said = round.map((call) => `${call} ${calls[call] === 'expired' ? 'timeout' : 'tool_result'}`);
  const mine = leaseText(turn, model.epoch, said.length > 0 ? said : [turn]);
  if (active.state === 'suspended')
    return isOpen(active)
      ? same(model, 'nothing')
      : same(changed(model, active, { state: 'running', aliveAt: now, leaseId }), mine);
  return same(model, leaseId !== undefined && active.leaseId === leaseId ? mine : 'nothing');
};

const stopQueued = (model: Model, turn: string): Outcome => {
  const queue = model.queue.filter((one) => one.turn !== turn);
  if (queue.length < model.queue.length) {
    const end: End = { status: 'canceled', by: 'stop in the queue' };
    return same(tell({ ...model, queue, ended: { ...model.ended, [turn]: end } }, `task ${turn} canceled`), 'done');
  }
  const { by } = model.ended[turn] ?? {};
  if (by === 'stop in the queue') return same(model, 'duplicate');
  // The turn's own record may not have learnt yet that it was stopped.
  return by === 'stop' ? same(model, 'duplicate', 'stale_turn') : same(model, 'stale_turn');
};

const advanced = (model: Model, active: Active, op: Gated): Outcome => {
  const { now } = model;
  switch (op.do) {
    case 'start':
      if (active.state !== 'dispatched') return same(model, 'duplicate');
      return same(changed(model, active, { state: 'running', aliveAt: now }), 'done');
    case 'step': {
      if (active.step === op.step) return same(model, 'duplicate');
      if (active.state !== 'running') return same(model, 'not_running');
      const taken = changed(model, active, { step: op.step, steps: active.steps + 1, aliveAt: now });
      return same(tell(taken, `step ${op.turn} ${op.step}`), 'done');
    }
    case 'suspend': {
      const known = op.calls.filter((call) => call in active.calls);
      if (known.length === op.calls.length) return same(model, 'duplicate');
      if (active.state !== 'running') return same(model, 'not_running');
      if (known.length > 0) return same(model, 'id_reused');
      const calls = Object.fromEntries(op.calls.map((call) => [call, 'waiting' as const]));
      const waits = {
        calls: { ...active.calls, ...calls },
        round: op.calls,
        deadline: now + toolTimeoutMs,
        aliveAt: now,
      };
      return same(changed(model, active, { state: 'suspended', ...waits }), 'done');
    }
    case 'report': {
      const is = active.calls[op.call];
      if (is !== 'waiting') return same(model, is === undefined ? 'unknown' : 'duplicate');
      if (op.terminate) return same(ended(model, active, { status: 'partial', by: 'tool' }), 'done');
      const calls = { ...active.calls, [op.call]: 'received' as const };
      return same(changed(model, active, { calls, aliveAt: now }), 'done');
    }
    case 'deliver':
      if (!isRunning(active)) return same(model, 'not_running');
      return same(ended(model, active, { status: 'success', by: 'worker' }, { card: op.card }), 'done');
    case 'stop':
      return same(ended(model, active, { status: 'canceled', by: 'stop' }), 'done');
  }
};

const isSaidAgain = ({ last }: Model, op: Gated): boolean => {
  if (last?.turn !== op.turn || last.epoch !== op.epoch) return false;
  return (op.do === 'stop' && last.by === 'stop') || (op.do === 'deliver' && last.card === op.card);
};

const outcomeOf = (model: Model, op: Op): Outcome => {
  if (op.do === 'lease') return lease(model, op.leaseId);
  if (op.do === 'stopQueued') return stopQueued(model, op.turn);
  // What time does is told apart from what anybody does: it may do it at any moment.
  if (op.do === 'watch') return same(model, 'done');
  if (op.do === 'enqueue') {
    if (model.known.includes(op.turn)) return same(model, 'duplicate');
    const queue = [...model.queue, { at: model.now, turn: op.turn }];
    const known = [...model.known, op.turn].toSorted();
    return same(
      { ...model, known, queue: queue.toSorted((a, b) => a.at - b.at || (a.turn < b.turn ? -1 : 1)) },
      'done',
    );
  }
  if (op.do === 'stop' && op.epoch === 0) return stopQueued(model, op.turn);
  const { active, epoch } = model;
  if (active && active.turn === op.turn && epoch === op.epoch) return advanced(model, active, op);
  if (op.do === 'report') return same(model, 'late');
  return same(model, isSaidAgain(model, op) ? 'duplicate' : 'stale_turn');
};

export interface Answered {
  op: Op;
  answer: string;
}

/** What there may be after moves that were made at once: their answers are those of some order, with the watchdog anywhere in it. */
export const explained = (from: Model[], moves: Answered[]): Model[] => {
  const found = new Map<string, Model>();
  const visit = (model: Model, left: Answered[]): void => {
    if (left.length === 0) found.set(JSON.stringify(model), model);
    for (const one of left) {
      const rest = left.filter((other) => other !== one);
      const { model: next, answers } = outcomeOf(model, one.op);
      // Others were in the way, again and again: nothing was done.
      if (one.answer === 'conflict') visit(model, rest);
      else if (answers.includes(one.answer)) visit(next, rest);
    }
    const later = timePassed(model);
    if (later) visit(later, left);
  };
  for (const model of from) visit(model, moves);
  return [...found.values()];
};

export const isAsIn = ({ active, epoch, last }: Model, head: AgentState | undefined): boolean => {
  if (!head) return epoch === 0;
  const expected = {
    epoch,
    state: active?.state ?? 'idle',
    turn: active?.turn,
    leaseId: active?.leaseId,
    steps: active?.steps,
    waiting: active?.calls,
    last: last && { turn: last.turn, epoch: last.epoch, status: last.status },
  };
  const seen = {
    epoch: head.epoch,
    state: head.state,
    turn: head.turn,
    leaseId: head.leaseId,
    steps: head.steps,
    waiting: head.waiting,
    last: head.last && { turn: head.last.turn, epoch: head.last.epoch, status: head.last.status },
  };
  try {
    assert.deepEqual(seen, expected);
    return true;
  } catch {
    return false;
  }
};
