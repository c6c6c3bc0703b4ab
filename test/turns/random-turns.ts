import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Known } from '../../shared/agents/agent.ts';
import { keepCard } from '../../shared/cards/keep-card.ts';
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
  /** What follows from what has happened so far has been carried out, or soon will be. */
  settled(): Promise<void>;
}

/** One thing that a worker, a tool, a caller or time does. `which` chooses among all leases and calls there ever were. */
export type Move =
  | { do: 'enqueue' | 'reportAll' }
  | { do: 'lease'; leaseId: string | undefined }
  | { do: 'start' | 'step' | 'deliver' | 'stop' | 'stopQueued'; which: number }
  | { do: 'suspend'; which: number; calls: number[] }
  | { do: 'report'; which: number; terminate: boolean }
  | { do: 'wait'; ms: number };

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

/** Mostly the latest. */
const which = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(6) });
const leaseId = fc.constantFrom(undefined, 'worker-1', 'worker-2');
/** Of the few that each turn has, so that the same comes again: whole, in part, and late. */
const calls = fc.uniqueArray(fc.nat(4), { minLength: 1, maxLength: 3 });
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('enqueue' as const) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('lease' as const), leaseId }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('step' as const), which }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('suspend' as const), which, calls }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      which,
      terminate: fc.nat(9).map((chance) => chance === 0),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('reportAll' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('deliver' as const), which }) },
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
export const lives = (longest: number): fc.Arbitrary<Move[][]> =>
  fc.array(fc.array(move, { minLength: 1, maxLength: 3 }), { minLength: longest / 3, maxLength: longest });

/** Longer than a worker may be silent. */
const LONG_MS = 310_000;

interface Lease {
  turn: string;
  epoch: number;
}

/** What a lease brought: what was asked, or what the tools said. */
interface Taken extends Lease {
  rows: string[];
  leaseId: string | undefined;
}

/** What the moves brought, as far as their answers told. */
export class Story {
  readonly turns: string[] = [];
  readonly leases: Lease[] = [];
  readonly taken: Taken[] = [];
  readonly calls: (Lease & { call: string })[] = [];
  /** The calls that were applied and that no worker has read. */
  readonly unread = new Set<string>();
  /** How often each call was applied, and each turn was ended by an answer that said so. */
  readonly applied = new Map<string, number>();
  readonly ended = new Map<string, string[]>();
  readonly #world: World;
  readonly #known: Known;
  #count = 0;
  #result?: ReturnType<typeof keepCard>;

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
        const wanted = { agent: id, correlation, mode: 'call', channel: 'public', trace: TRACE };
        this.turns.push((await enqueue(deps, { project, role: 'admin' }, wanted)).turn);
        return;
      }
      case 'lease': {
        await this.#lease(move.leaseId);
        return;
      }
      case 'stopQueued': {
        const turn = await this.turn(this.turns[move.which % this.turns.length] ?? '');
        if (turn && !(await stopTurn(deps, turn, 0)).duplicate) this.#end(turn.id, 'canceled');
        return;
      }
      case 'reportAll': {
        const [last] = this.calls.slice(-1);
        const waited = this.calls.filter(({ turn }) => turn === last?.turn);
        await Promise.all(waited.map((call) => this.#report(call, false)));
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

  /** What was taken, and whether it is a turn that goes on. */
  async #lease(leaseId?: string): Promise<(Lease & { isResumed: boolean }) | undefined> {
    const held = await lease(this.#world.deps, this.#known, { waitMs: 0, leaseId });
    if (!held) return undefined;
    const { agent_turn_id: turn, turn_epoch: epoch, inbox } = held;
    this.taken.push({ turn, epoch, leaseId, rows: inbox.map(({ inbox_id }) => String(inbox_id)).toSorted() });
    for (const { inbox_id } of inbox) this.unread.delete(String(inbox_id));
    const isResumed = inbox[0]?.message_type !== 'turn';
    const isKnown = this.leases.some((one) => one.turn === turn && one.epoch === epoch);
    if (!isResumed && !isKnown) this.leases.push({ turn, epoch });
    return { turn, epoch, isResumed };
  }

  async #advance(held: Lease, move: Extract<Move, { which: number }>): Promise<void> {
    const { deps } = this.#world;
    const holder = this.#holderOf(held);
    if (move.do === 'start') await startTurn(deps, holder);
    if (move.do === 'step') await takeStep(deps, holder, `s${this.#count++}`, 'think');
    if (move.do === 'suspend') {
      const unread = this.#unreadOf(held.turn);
      const awaited = move.calls.map((call) => ({ toolCall: `c${call}`, step: 's' }));
      const { duplicate } = await suspendTurn(deps, holder, awaited);
      if (duplicate) return;
      const lost = this.#unreadOf(held.turn).filter((call) => unread.includes(call));
      assert.deepEqual(lost, [], 'the turn waits for others, and nobody has read what these said');
      this.calls.push(...awaited.map(({ toolCall }) => ({ ...held, call: toolCall })));
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
      if (turn && !(await stopTurn(deps, turn, held.epoch, undefined, { agent })).duplicate)
        this.#end(held.turn, 'canceled');
    }
  }

  async #report(call: Lease & { call: string }, terminate: boolean): Promise<void> {
    const said = {
      type: 'tool_result',
      status: 'partial',
      card: await this.#card(),
      afterExecution: terminate ? 'terminate' : 'suspend',
      ...TRACE,
    } as const;
    const { ignored } = await report(this.#world.deps, this.#holderOf(call), call.call, { depth: 0 }, said);
    if (ignored) return;
    const id = `${call.turn}:${call.call}`;
    this.applied.set(id, (this.applied.get(id) ?? 0) + 1);
    if (terminate) this.#end(call.turn, 'partial');
    else if (!this.taken.some(({ rows }) => rows.includes(id))) this.unread.add(id);
  }

  /** What every tool says here. */
  #card(): Promise<string> {
    const { deps } = this.#world;
    const { project, id } = this.#known.agent;
    this.#result ??= keepCard(deps, project, id, 'tool.result', { status: 'partial', result: null });
    return this.#result.then((card) => card.id);
  }

  #unreadOf(turn: string): string[] {
    return [...this.unread].filter((id) => id.startsWith(`${turn}:`));
  }

  #end(turn: string, status: string): void {
    this.ended.set(turn, [...(this.ended.get(turn) ?? []), status]);
  }

  /** Every worker dies, and others take up what is left, until nothing is. */
  async drain(): Promise<void> {
    for (let rounds = 0; rounds < 100; rounds++) {
      // Looked at first: what the agent was busy with may end behind a lease that finds it so.
      const head = await this.head();
      const taken = await this.#lease();
      if (taken) {
        if (!taken.isResumed) await startTurn(this.#world.deps, this.#holderOf(taken));
        await deliverTurn(this.#world.deps, this.#holderOf(taken), { status: 'success', deliverable: 'card' });
        this.#end(taken.turn, 'success');
        continue;
      }
      if (!head?.turn) return;
      this.#world.advance(Math.max(LONG_MS, (head.due ?? 0) - this.#world.deps.clock.now()));
      await this.#world.settled();
      await eventually(async () => assert.notEqual((await this.head())?.v, head.v));
    }
    assert.fail('it does not come to an end');
  }

  /** What must be true whatever happened. */
  async check(): Promise<void> {
    await this.#world.settled();
    const epochs = this.leases.map(({ epoch }) => epoch);
    assert.equal(new Set(epochs).size, epochs.length, 'two leases have the same epoch');
    assert.equal(new Set(this.leases.map(({ turn }) => turn)).size, epochs.length, 'a turn was leased twice');
    for (const { turn, rows, leaseId: mine } of this.taken) {
      const others = this.taken.filter((one) => one.turn === turn && one.rows.join() === rows.join());
      const isOwn = mine === undefined ? others.length === 1 : others.every((one) => one.leaseId === mine);
      assert.ok(isOwn, `two workers were given ${rows.join()} of ${turn}`);
    }
    for (const [call, times] of this.applied)
      assert.equal(times, 1, `the report of ${call} was applied ${times} times`);
    for (const held of this.leases) {
      await assert.rejects(startTurn(this.#world.deps, this.#holderOf(held)), { code: 'stale_turn' });
    }
    let reaped = 0;
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
      if (said.length > 0) continue;
      assert.equal(end.errorCode, 'reaped');
      reaped += 1;
    }
    const { epoch = 0 } = (await this.head()) ?? {};
    assert.equal(
      epoch,
      epochs.length + reaped,
      'every lease and every reaping raises the epoch, and nothing else does',
    );
  }
}
