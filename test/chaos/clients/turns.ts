import { setTimeout as pause } from 'node:timers/promises';
import type { Caller, Reply } from '../../support/api.ts';
import { madeCard } from '../../support/ground.ts';
import type { Random } from '../../support/hostile-ports.ts';
import type { Advanced } from '../history.ts';
import { Over } from './insist.ts';
import { newMark, newUuid, type World } from './world.ts';

/** Longer than the watchdog waits for a step. */
const LATE_MS = 2500;

/** Each call is made twice now and then, and is one turn. */
export const callTurns = async (world: World, agent: string, count: number): Promise<void> => {
  const random = world.randomOf(`calls of ${agent}`);
  const { recorder, admin } = world;
  for (let left = count; left > 0; left--) {
    const correlation = newUuid(random);
    const call = { agent_id: agent, correlation_id: correlation, mode: 'call', payload: { mark: newMark(random) } };
    for (let times = random() < 0.3 ? 2 : 1; times > 0; times--) {
      const begun = recorder.tick();
      const { status, body } = await admin.call('POST', '/v1/turns', call);
      if (status < 300) recorder.add({ kind: 'called', begun, agent, turn: body.agent_turn_id, correlation });
    }
    await pause(random() * 300);
  }
};

interface Lease {
  turn: string;
  epoch: number;
  isResumed: boolean;
}

/** One of the workers of an agent that runs turns; it may be taken for dead while it lives. */
export class TurnWorker {
  readonly #world: World;
  readonly #caller: Caller;
  readonly #agent: string;
  readonly #name: string;
  readonly #random: Random;

  constructor(world: World, agent: string, number: number) {
    this.#world = world;
    this.#caller = world.admin;
    this.#agent = agent;
    this.#name = `${agent}-${number}`;
    this.#random = world.randomOf(this.#name);
  }

  async work(): Promise<void> {
    try {
      while (!this.#world.isOver) {
        const lease = await this.#lease();
        if (lease) await (lease.isResumed ? this.#finish(lease) : this.#begin(lease));
      }
    } catch (error) {
      if (!(error instanceof Over)) throw error;
    }
  }

  async #lease(): Promise<Lease | undefined> {
    const { recorder } = this.#world;
    const begun = recorder.tick();
    const wanted = { agent_id: this.#agent, wait: this.#world.waitSeconds, lease_id: this.#name };
    const { status, body } = await this.#caller.call('POST', '/v1/turns/lease', wanted);
    if (status !== 200) return undefined;
    const { agent_turn_id: turn, turn_epoch: epoch, inbox } = body;
    recorder.add({ kind: 'leased', begun, agent: this.#agent, worker: this.#name, turn, epoch });
    return { turn, epoch, isResumed: inbox[0].message_type !== 'turn' };
  }

  get #dies(): boolean {
    return !this.#world.isCalm && this.#random() < 0.05;
  }

  async #dawdle(): Promise<void> {
    if (!this.#world.isCalm && this.#random() < 0.08) await pause(LATE_MS);
  }

  async #begin(lease: Lease): Promise<void> {
    if (this.#dies || !(await this.#advance(lease, 'start'))) return;
    await this.#dawdle();
    const step = newMark(this.#random);
    if (this.#dies || !(await this.#advance(lease, 'step', { step_id: step, phase: 'think' }, step))) return;
    await this.#dawdle();
    if (this.#random() < 0.4) return this.#finish(lease);
    const call = newUuid(this.#random);
    const waiting = [{ tool_call_id: call, step_id: step }];
    if (this.#dies || !(await this.#advance(lease, 'suspend', { waiting, deadline_seconds: 3 })) || this.#dies) return;
    await this.#answerTool(lease, call);
  }

  async #answerTool({ turn, epoch }: Lease, tool_call_id: string): Promise<void> {
    const tool_result_card_id = await madeCard(this.#caller, 'tool.result', { result: newMark(this.#random) });
    const report = { tool_call_id, tool_result_card_id, agent_turn_id: turn, turn_epoch: epoch, agent_id: this.#agent };
    const rest = { after_execution: 'suspend', status: 'success', recursion_depth: 0 };
    await this.#caller.call('POST', `/v1/turns/${turn}/reports`, { ...report, ...rest });
  }

  async #finish(lease: Lease): Promise<void> {
    await this.#dawdle();
    if (this.#dies) return;
    const deliverable_card_id = await madeCard(this.#caller, 'task.deliverable', { mark: newMark(this.#random) });
    await this.#advance(lease, 'deliver', { status: 'success', deliverable_card_id });
  }

  async #advance(lease: Lease, verb: Advanced['verb'], body: object = {}, step?: string): Promise<boolean> {
    const { recorder } = this.#world;
    const { turn, epoch } = lease;
    const begun = recorder.tick();
    const said = { agent_id: this.#agent, turn_epoch: epoch, ...body };
    const reply: Reply = await this.#caller.call('POST', `/v1/turns/${turn}/${verb}`, said);
    const isAccepted = reply.status === 200;
    const isDuplicate = reply.body?.duplicate === true;
    const about = { begun, agent: this.#agent, worker: this.#name, turn, epoch, isAccepted, isDuplicate };
    recorder.add({ kind: 'advanced', verb, ...about, ...(step && { step }) });
    return isAccepted;
  }
}
