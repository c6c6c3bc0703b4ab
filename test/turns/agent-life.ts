import assert from 'node:assert/strict';
import type fc from 'fast-check';
import { toLeaseView } from '../../shared/adapters/common-ground/turn-view.ts';
import { onTimer } from '../../shared/effects/record-handlers.ts';
import type { RegisteredAgent } from '../../shared/identity/agents/agent.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { agentStateRef } from '../../shared/model/agent-state.ts';
import { turnRef } from '../../shared/model/turn.ts';
import { deliverTurn, recordStep, startTurn, suspendTurn } from '../../shared/turns/lifecycle/advance-turn.ts';
import { enqueueTurn } from '../../shared/turns/lifecycle/enqueue.ts';
import { leaseTurn } from '../../shared/turns/lifecycle/lease-turn.ts';
import { stopTurn } from '../../shared/turns/lifecycle/stop-turn.ts';
import { recordToolReport } from '../../shared/turns/tool-calls/record-report.ts';
import { eventually } from '../support/eventually.ts';
import { inOrderOf } from '../support/scheduled-records.ts';
import {
  type Answered,
  explained,
  isAsIn,
  leaseText,
  type Model,
  newModel,
  type Op,
  timePassed,
} from './turn-model.ts';

/** A running system whose time stands still until the test moves it. */
export interface World {
  project: string;
  deps: Deps;
  advance(ms: number): void;
  /** What follows from what has happened so far has been carried out, or soon will be. */
  settled(): Promise<void>;
}

/**
 * `which` chooses among all leases, or turns, there ever were, the latest first; `astray` is by how much the epoch is wrong. What is
 * likely is chosen among all that the rules allow.
 */
export type Move =
  | { do: 'likely'; pick: number; rank: number }
  | { do: 'watch' }
  | { do: 'enqueue'; rank: number }
  | { do: 'enqueueAgain'; which: number }
  | { do: 'stopQueued'; which: number }
  | { do: 'lease'; leaseId?: string }
  | { do: 'start' | 'stop'; which: number; astray: number }
  | { do: 'step' | 'deliver'; which: number; astray: number; name: number }
  | { do: 'suspend'; which: number; astray: number; calls: number[] }
  | { do: 'report'; which: number; astray: number; call: number; terminate: boolean };

/** Moves that are made at once, some time after the last; or time, until nothing more comes of it. */
export type Scene = { ms?: number; moves: Move[] } | { ms: number };

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
/** The few that each turn has, so that the same comes again: whole, in part, and late. */
export const CALLS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'];
/** Every turn must be brought to its end, and two are enough to come in another order. */
const MOST_QUEUED = 2;
/** Longer than a worker may be silent, or a tool. */
const LONG_MS = 1_000_000;

interface Lease {
  turn: string;
  epoch: number;
}

/** One agent's life: what was answered and what is there must be what the model allows, at every moment. */
export class Life {
  readonly #world: World;
  readonly #known: RegisteredAgent;
  /** What every tool says here. */
  readonly #card: string;
  readonly #schedule: fc.Scheduler;
  readonly #deps: Deps;
  readonly #turns: string[] = [];
  readonly #leases: Lease[] = [];
  #models: [Model, ...Model[]];

  constructor(world: World, known: RegisteredAgent, card: string, schedule: fc.Scheduler) {
    this.#world = world;
    this.#known = known;
    this.#card = card;
    this.#schedule = schedule;
    this.#deps = { ...world.deps, records: inOrderOf(schedule, world.deps.records) };
    this.#models = [newModel(world.deps.clock.now())];
  }

  get turns(): number {
    return this.#turns.length;
  }

  get #agent() {
    const { project, id: agent } = this.#known.agent;
    return { project, agent };
  }

  async play(scene: Scene): Promise<void> {
    if (scene.ms !== undefined) this.#pass(scene.ms);
    if ('moves' in scene) await this.#make(scene.moves.flatMap((one) => this.#opOf(one) ?? []));
    else await this.#rest();
  }

  /** All that somebody could do now, and it would be done. */
  #likely(rank: number): Op[] {
    const [{ active, queue, epoch }] = this.#models;
    const next: Op[] = queue.length < MOST_QUEUED ? [{ do: 'enqueue', turn: this.#newTurn(rank) }] : [];
    if (!active)
      return [
        ...next,
        ...[undefined, 'worker-1', 'worker-2'].map((leaseId) => ({ do: 'lease' as const, leaseId })),
        ...queue.slice(0, 1).map(({ turn }) => ({ do: 'stopQueued' as const, turn })),
      ];
    const gate = { turn: active.turn, epoch };
    if (active.state === 'dispatched') return [...next, { do: 'start', ...gate }, { do: 'start', ...gate }];
    const waiting = active.round.filter((one) => active.calls[one] === 'waiting');
    if (waiting.length > 0)
      return [...next, ...waiting.map((one) => ({ do: 'report' as const, ...gate, call: one, terminate: rank === 9 }))];
    next.push({ do: 'deliver', ...gate, card: 'card-0' });
    if (active.state === 'suspended') return [...next, { do: 'lease', leaseId: active.leaseId }, { do: 'lease' }];
    next.push({ do: 'step', ...gate, step: `s${active.steps}` });
    const calls = CALLS.filter((one) => !(one in active.calls)).slice(0, 1 + (rank % 2));
    const suspend: Op = { do: 'suspend', ...gate, calls };
    return calls.length === 0 ? next : [...next, suspend, suspend];
  }

  #newTurn(rank: number): string {
    return `turn_${rank}-${this.#agent.agent}-${this.#turns.length}`;
  }

  #opOf(move: Move): Op | undefined {
    if (move.do === 'lease' || move.do === 'watch') return move;
    if (move.do === 'enqueue' || move.do === 'likely') {
      const likely = this.#likely(move.rank);
      const op: Op | undefined =
        move.do === 'likely' ? likely[move.pick % likely.length] : { do: 'enqueue', turn: this.#newTurn(move.rank) };
      if (op?.do === 'enqueue') this.#turns.push(op.turn);
      return op;
    }
    if (move.do === 'stopQueued' || move.do === 'enqueueAgain') {
      const turn = this.#turns.at(-1 - (move.which % Math.max(1, this.#turns.length)));
      return turn === undefined ? undefined : { do: move.do === 'stopQueued' ? move.do : 'enqueue', turn };
    }
    const held = this.#leases.at(-1 - (move.which % Math.max(1, this.#leases.length)));
    if (!held) return undefined;
    const gate = { turn: held.turn, epoch: Math.max(0, held.epoch + move.astray) };
    if (move.do === 'step') return { do: 'step', ...gate, step: `s${move.name}` };
    if (move.do === 'deliver') return { do: 'deliver', ...gate, card: `card-${move.name}` };
    if (move.do === 'suspend') return { do: 'suspend', ...gate, calls: move.calls.map((one) => `c${one}`) };
    if (move.do === 'report') return { do: 'report', ...gate, call: `c${move.call}`, terminate: move.terminate };
    return { do: move.do, ...gate };
  }

  async #make(ops: Op[]): Promise<void> {
    const answers = await this.#schedule.waitFor(
      Promise.all(ops.map(async (op): Promise<Answered> => ({ op, answer: await this.#answerTo(op) }))),
    );
    await this.#compare(() => explained(this.#models, answers), answers);
  }

  /** The head as it is now is that of one of the models. */
  async #compare(allowed: () => Model[], answers: Answered[] = []): Promise<void> {
    const head = await this.#world.deps.records.get(agentStateRef(this.#agent.project, this.#agent.agent));
    const models = allowed();
    const found = models.filter((model) => isAsIn(model, head));
    const said = () => JSON.stringify({ answers, head, models, from: this.#models }, null, 1);
    const [first, ...rest] = found;
    assert.ok(first, `no order of these moves explains the answers and the head: ${said()}`);
    this.#models = [first, ...rest];
  }

  #pass(ms: number): void {
    this.#world.advance(ms);
    // What was due before may have been done by then, or not.
    const [first, ...rest] = explained(this.#models, []).map((model) => ({ ...model, now: model.now + ms }));
    if (first) this.#models = [first, ...rest];
  }

  /** Until time has done all that it does. */
  async #rest(): Promise<void> {
    await this.#world.settled();
    const over = () => explained(this.#models, []).filter((model) => !timePassed(model));
    await eventually(async () => {
      const { records, clock } = this.#world.deps;
      const { due = Number.POSITIVE_INFINITY } =
        (await records.get(agentStateRef(this.#agent.project, this.#agent.agent))) ?? {};
      assert.ok(due > clock.now(), 'what is due has not been done yet');
      await this.#compare(over);
    });
  }

  async #answerTo(op: Op): Promise<string> {
    try {
      return await this.#done(op);
    } catch (error) {
      // The rules may refuse a move, and nothing else may.
      if (error instanceof ParleyError && error.code !== 'internal') return error.code;
      throw error;
    }
  }

  async #done(op: Op): Promise<string> {
    const deps = this.#deps;
    const { project, agent } = this.#agent;
    const isDone = ({ duplicate }: { duplicate: boolean }) => (duplicate ? 'duplicate' : 'done');
    switch (op.do) {
      case 'enqueue': {
        const wanted = { id: op.turn, agent, correlation: op.turn, mode: 'call', channel: 'public', trace: TRACE };
        return isDone(await enqueueTurn(deps, { project, role: 'admin' }, wanted));
      }
      case 'lease':
        return this.#lease(op.leaseId);
      case 'watch': {
        const head = await deps.records.get(agentStateRef(project, agent));
        if (head && (head.due ?? Infinity) <= deps.clock.now()) await onTimer(deps, head);
        return 'done';
      }
      case 'start':
        return isDone(await startTurn(deps, { project, agent, ...op }));
      case 'step':
        return isDone(await recordStep(deps, { project, agent, ...op }, op.step, 'think'));
      case 'suspend': {
        const awaited = op.calls.map((toolCall) => ({ toolCall, step: 's' }));
        return isDone(await suspendTurn(deps, { project, agent, ...op }, awaited));
      }
      case 'deliver':
        return isDone(await deliverTurn(deps, { project, agent, ...op }, { status: 'success', deliverable: op.card }));
      case 'report': {
        const afterExecution = op.terminate ? ('terminate' as const) : ('suspend' as const);
        const said = { type: 'tool_result', status: 'partial', card: this.#card, afterExecution, ...TRACE } as const;
        const { ignored } = await recordToolReport(deps, { project, agent, ...op }, op.call, { depth: 0 }, said);
        return ignored ?? 'done';
      }
      default: {
        const turn = await deps.records.get(turnRef(project, op.turn));
        // Asked for at the same time, it may not be there yet.
        if (!turn) return 'stale_turn';
        return isDone(await stopTurn(deps, turn, op.do === 'stop' ? op.epoch : 0, undefined, { agent }));
      }
    }
  }

  async #lease(leaseId: string | undefined): Promise<string> {
    const held = await leaseTurn(this.#deps, this.#known, { waitMs: 0, leaseId });
    if (!held) return 'nothing';
    const { turn, epoch } = held;
    if (!this.#leases.some((one) => one.turn === turn)) this.#leases.push({ turn, epoch });
    const rows = toLeaseView(held).inbox.map((row) =>
      row.message_type === 'turn' ? String(row.inbox_id) : `${row.tool_call_id} ${row.message_type}`,
    );
    return leaseText(turn, epoch, rows);
  }

  /** Every worker dies, and others take up what is left, until nothing is. */
  async drain(): Promise<void> {
    for (let rounds = 0; rounds < 100; rounds++) {
      const [{ active, queue }] = this.#models;
      if (!active && queue.length === 0) return;
      if (active) await this.play({ ms: LONG_MS });
      const latest = { which: 0, astray: 0 };
      for (const next of [{ do: 'lease' }, { do: 'start', ...latest }, { do: 'deliver', ...latest, name: 0 }] as const)
        await this.play({ moves: [next] });
    }
    assert.fail('it does not come to an end');
  }

  /** Every turn has ended as the model says, and what was told is what it says, each once. */
  async check(told: () => Promise<string[]>): Promise<void> {
    await this.#world.settled();
    const { project } = this.#agent;
    await eventually(async () => {
      const found = await told();
      assert.ok(
        this.#models.some((model) => model.told.join('\n') === found.join('\n')),
        `told was\n${found.join('\n')}\nand not\n${this.#models.map((model) => model.told.join('\n')).join('\nnor\n')}`,
      );
    });
    for (const id of this.#turns) {
      const { state, end } = (await this.#world.deps.records.get(turnRef(project, id))) ?? {};
      assert.ok(state === 'ended' && end?.deliverable, `the turn ${id} is lost`);
      assert.ok(this.#models.some(({ ended }) => ended[id]?.status === end.status));
    }
  }
}
