import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type Caller, callerWith, TestAgent, type Transport } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { type Random, seeded } from '../../support/hostile-ports.ts';
import type { Speaker } from '../../support/speakers.ts';
import { Recorder } from '../history.ts';
import type { Fault } from '../options.ts';
import { ADMIN_KEY } from '../process/job.ts';
import type { SystemUnderChaos } from '../system.ts';
import { insistOn } from './insist.ts';

/** What all clients of one run share. */
export class World {
  readonly recorder = new Recorder();
  readonly system: SystemUnderChaos;
  readonly admin: Caller;
  /** Insists too, and meets no faults but those of the system. */
  readonly calmTransport: Transport;
  readonly calmAdmin: Caller;
  readonly #seed: number;
  readonly #faults: readonly Fault[];
  readonly readers: { agent: TestAgent; speaker: Speaker }[] = [];
  /** Nothing goes wrong any more, and everybody works well. */
  isCalm = false;
  isOver = false;
  /** There is nobody to ask any more. */
  isGone = false;

  /** How long those who wait for work or messages wait at a time. */
  readonly waitSeconds: number;

  constructor(system: SystemUnderChaos, seed: number, faults: readonly Fault[], waitSeconds: number) {
    this.waitSeconds = waitSeconds;
    this.system = system;
    this.#seed = seed;
    this.#faults = faults;
    this.admin = callerWith(this.transportOf('admin'), ADMIN_KEY);
    this.calmTransport = insistOn(
      system.transport,
      () => 1,
      () => true,
      () => this.isGone,
    );
    this.calmAdmin = callerWith(this.calmTransport, ADMIN_KEY);
  }

  /** Chance of its own for each client: what one does shifts no other's. */
  randomOf(name: string): Random {
    return seeded(Number.parseInt(hash('sha256', `${this.#seed} ${name}`).slice(0, 8), 16));
  }

  transportOf(name: string): Transport {
    const hasFates = this.#faults.includes('calls');
    return insistOn(
      this.system.transport,
      this.randomOf(`${name} calls`),
      () => this.isCalm || !hasFates,
      () => this.isOver,
    );
  }

  /** Before anything fails. */
  async register(id: string, registration: object): Promise<TestAgent> {
    // A repetition gets no key.
    const reply = await eventually(async () => {
      const made = await this.system.admin.call('PUT', `/v1/agents/${id}`, registration);
      assert.ok([200, 201].includes(made.status), JSON.stringify(made.body));
      return made.body.key ? made : this.system.admin.call('POST', `/v1/agents/${id}/key`);
    });
    assert.ok(reply.body.key, JSON.stringify(reply.body));
    return new TestAgent(id, reply.body.key, this.transportOf(id));
  }
}

export const newMark = (random: Random): string => {
  const digits = Array.from({ length: 12 }, () => Math.floor(random() * 16).toString(16));
  return `mark-${digits.join('')}`;
};

export const newUuid = (random: Random): string => {
  const digits = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
};

export const pick = <T>(random: Random, all: readonly T[]): T => {
  const one = all[Math.floor(random() * all.length)];
  if (one === undefined) throw new Error('there is nothing to pick from');
  return one;
};
