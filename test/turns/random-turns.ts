import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Known } from '../../shared/agents/agent.ts';
import type { Deps } from '../../shared/deps.ts';
import { ParleyError } from '../../shared/errors.ts';
import { deliverTurn, startTurn, suspendTurn, takeStep } from '../../shared/turns/advance.ts';
import { enqueue } from '../../shared/turns/enqueue.ts';
import { type Head, headRef } from '../../shared/turns/head.ts';
import { lease } from '../../shared/turns/lease.ts';
import { report } from '../../shared/turns/report.ts';
import { stopTurn } from '../../shared/turns/stop.ts';
import { type Turn, turnRef } from '../../shared/turns/turn.ts';
import { eventually } from '../support/eventually.ts';

/** A running system whose time the test moves. */
export interface World {
  deps: Deps;
  advance(ms: number): void;
}

/** One thing that a worker, a tool, a caller or time does. `which` chooses among all leases and calls there ever were. */
export type Move =
  | { do: 'enqueue' | 'lease' }
  | { do: 'start' | 'step' | 'deliver' | 'stop' | 'stopQueued'; which: number }
  | { do: 'suspend'; which: number; calls: number }
  | { do: 'report'; which: number; terminate: boolean }
  | { do: 'wait'; ms: number };

const which = fc.nat(6);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('enqueue' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('lease' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('step' as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('suspend' as const), which, calls: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      which: fc.nat(5),
      terminate: fc.nat(9).map((chance) => chance === 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('deliver' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stopQueued' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 9_999, 31_000, 310_000, 1_000_000),
    }),
  },
);

/** What is in one group happens at once. */
export const lives: fc.Arbitrary<Move[][]> = fc.array(fc.array(move, { minLength: 1, maxLength: 3 }), {
  minLength: 5,
  maxLength: 20,
});

interface Lease {
  turn: string;
  epoch: number;
}

/** What the moves brought, as far as their answers told. */
export class Story {
  readonly turns: string[] = [];
  readonly leases: Lease[] = [];
  readonly calls: (Lease & { call: string })[] = [];
  /** How often each call was applied, and each turn was ended by an answer that said so. */
  readonly applied = new Map<string, number>();
  readonly ended = new Map<string, string[]>();
  readonly #world: World;
  readonly #known: Known;
  #count = 0;

  constructor(world: World, known: Known) {
    this.#world = world;
    this.#known = known;
  }

  get #holderOf() {
    const { project, id } = this.#known.agent;
    return ({ turn, epoch }: Lease) => ({ project, agent: id, turn, epoch });
  }

  head(): Promise<Head | undefined> {
    const { project, id } = this.#known.agent;
    return this.#world.deps.records.get(headRef(project, id));
  }

  turn(id: string): Promise<Turn | undefined> {
    return this.#world.deps.records.get(turnRef(this.#known.agent.project, id));
  }

  /** The rules may refuse a move, and nothing else may. */
  async play(moves: Move[]): Promise<void> {
    const outcomes = await Promise.allSettled(moves.map((one) => this.#play(one)));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected' && !(outcome.reason instanceof ParleyError)) throw outcome.reason;
      if (outcome.status === 'rejected' && outcome.reason.code === 'internal') throw outcome.reason;
    }
  }

  async #play(move: Move): Promise<void> {
    const { deps } = this.#world;
    switch (move.do) {
      case 'wait':
        this.#world.advance(move.ms);
        return;
      case 'enqueue': {
        const { project, id } = this.#known.agent;
        const correlation = `${id}-${this.#count++}`;
        const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
        const wanted = { agent: id, correlation, mode: 'call', channel: 'public', trace };
        this.turns.push((await enqueue(deps, { project, role: 'admin' }, wanted)).turn);
        return;
      }
      case 'lease': {
        const held = await lease(deps, this.#known, { waitMs: 0 });
        if (held?.inbox[0]?.message_type === 'turn')
          this.leases.push({ turn: held.agent_turn_id, epoch: held.turn_epoch });
        return;
      }
      case 'stopQueued': {
        const turn = await this.turn(this.turns[move.which % this.turns.length] ?? '');
        if (turn && !(await stopTurn(deps, turn, 0)).duplicate) this.#end(turn.id, 'canceled');
        return;
      }
      case 'report': {
        const call = this.calls.at(-1 - (move.which % Math.max(1, this.calls.length)));
        if (call) await this.#report(call, move.terminate);
        return;
      }
      default: {
        const held = this.leases.at(-1 - (move.which % Math.max(1, this.leases.length)));
        if (held) await this.#advance(held, move);
      }
    }
  }

  async #advance(held: Lease, move: Extract<Move, { which: number }>): Promise<void> {
    const { deps } = this.#world;
    const holder = this.#holderOf(held);
    if (move.do === 'start') await startTurn(deps, holder);
    if (move.do === 'step') await takeStep(deps, holder, `s${this.#count++}`, 'think');
    if (move.do === 'suspend') {
      const calls = Array.from({ length: move.calls }, () => ({ toolCall: `c${this.#count++}`, step: 's' }));
      const { duplicate } = await suspendTurn(deps, holder, calls);
      if (!duplicate) this.calls.push(...calls.map(({ toolCall }) => ({ ...held, call: toolCall })));
    }
    if (move.do === 'deliver') {
      const deliverable = `card-${this.#count++}`;
      const { duplicate } = await deliverTurn(deps, holder, { status: 'success', deliverable });
      assert.equal(duplicate, false, 'no two deliveries are the same here');
      this.#end(held.turn, 'success');
    }
    if (move.do === 'stop') {
      const turn = await this.turn(held.turn);
      const { id: agent } = this.#known.agent;
      if (turn && !(await stopTurn(deps, { ...turn, agent }, held.epoch)).duplicate) this.#end(held.turn, 'canceled');
    }
  }

  async #report(call: Lease & { call: string }, terminate: boolean): Promise<void> {
    const said = {
      type: 'tool_result',
      status: 'partial',
      card: 'card',
      afterExecution: terminate ? 'terminate' : 'suspend',
    } as const;
    const { ignored } = await report(this.#world.deps, this.#holderOf(call), call.call, { depth: 0 }, said);
    if (ignored) return;
    this.applied.set(call.call, (this.applied.get(call.call) ?? 0) + 1);
    if (terminate) this.#end(call.turn, 'partial');
  }

  #end(turn: string, status: string): void {
    this.ended.set(turn, [...(this.ended.get(turn) ?? []), status]);
  }

  /** Every worker dies, and others take up what is left, until nothing is. */
  async drain(): Promise<void> {
    for (let rounds = 0; rounds < 100; rounds++) {
      const held = await lease(this.#world.deps, this.#known, { waitMs: 0 });
      if (held?.inbox[0]?.message_type === 'turn') {
        const taken = { turn: held.agent_turn_id, epoch: held.turn_epoch };
        this.leases.push(taken);
        await startTurn(this.#world.deps, this.#holderOf(taken));
        await deliverTurn(this.#world.deps, this.#holderOf(taken), { status: 'success', deliverable: 'card' });
        this.#end(taken.turn, 'success');
        continue;
      }
      const head = await this.head();
      if (!head?.turn) return;
      // Its time passes as slowly as the watchdog looks.
      const { due = 0 } = head;
      this.#world.advance(Math.max(1, due - this.#world.deps.clock.now()));
      await eventually(async () => assert.notEqual((await this.head())?.v, head.v));
    }
    assert.fail('it does not come to an end');
  }

  /** What must be true whatever happened. */
  async check(): Promise<void> {
    const epochs = this.leases.map(({ epoch }) => epoch);
    assert.equal(new Set(epochs).size, epochs.length, 'two leases have the same epoch');
    assert.equal(new Set(this.leases.map(({ turn }) => turn)).size, epochs.length, 'a turn was leased twice');
    for (const [call, times] of this.applied)
      assert.equal(times, 1, `the report of ${call} was applied ${times} times`);
    const head = await this.head();
    assert.ok(Math.max(0, ...epochs) <= (head?.epoch ?? 0));
    for (const held of this.leases) {
      await assert.rejects(startTurn(this.#world.deps, this.#holderOf(held)), { code: 'stale_turn' });
    }
    for (const id of this.turns) {
      const end = await eventually(async () => {
        const turn = await this.turn(id);
        assert.ok(turn?.end, `the turn ${id} is lost`);
        return turn.end;
      });
      assert.ok(end.deliverable);
      const said = this.ended.get(id) ?? [];
      assert.ok(said.length <= 1, `${id} ended ${said.join(' and ')}`);
      assert.equal(end.status, said[0] ?? 'failed');
      if (said.length === 0) assert.equal(end.errorCode, 'reaped');
    }
  }
}
