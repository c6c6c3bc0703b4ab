import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Caller, callerWith, httpTransport, type Transport } from '../support/api.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';
import { atEndOf, lastingPort, type Owner } from '../support/server-process.ts';
import { ADMIN_KEY, type Job, type Order } from './process/job.ts';

/** Logged by the system about what it was made to meet. */
const INTENDED = /^disk full|hostile: /;
/** The system says that a task which it has claimed could not be put into words: it is handed out later. */
export const UNHANDED = 'encoding claimed task failed';
const START_MS = 90_000;
const MAIN = join(import.meta.dirname, 'process/main.ts');

/** One process that is killed, and comes back on the same port. */
export class Instance {
  readonly #job: Job;
  readonly #troubles: string[];
  readonly #answers = new Map<number, (said: { value?: unknown; error?: string }) => void>();
  #child: ChildProcess | undefined;
  #orders = 0;
  #isMeant = false;
  #starts = 0;
  #isCalm = false;
  transport: Transport;

  constructor(owner: Owner, job: Job, troubles: string[]) {
    this.#job = job;
    this.#troubles = troubles;
    this.transport = httpTransport(`http://127.0.0.1:${job.port}`);
    atEndOf(owner, () => this.kill());
  }

  get port(): number {
    return this.#job.port;
  }

  get aheadMs(): number {
    return this.#job.aheadMs;
  }

  async start(): Promise<void> {
    this.#isMeant = false;
    // The same faults at each start would always fall on the same first calls.
    const job = { ...this.#job, seed: this.#job.seed + this.#starts++ };
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const child = fork(MAIN, [JSON.stringify(job)], {
      serialization: 'advanced',
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-4000);
      });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // biome-ignore lint/suspicious/noExplicitAny: what the process sends
    child.on('message', (message: any) => {
      if (message.port) resolve();
      else if (message.trouble?.startsWith(UNHANDED)) this.#troubles.push(message.trouble);
      else if (message.trouble && !INTENDED.test(message.trouble)) this.#troubles.push(message.trouble);
      else this.#answers.get(message.id)?.(message);
    });
    child.on('exit', (code, signal) => {
      for (const answer of this.#answers.values()) answer({ error: 'the process has ended' });
      this.#answers.clear();
      const text = `a process ended by itself with ${code ?? signal}: ${said}`;
      if (!this.#isMeant) this.#troubles.push(text);
      reject(new Error(text));
    });
    const tooLong = setTimeout(() => reject(new Error(`a process did not start: ${said}`)), START_MS);
    await promise.finally(() => clearTimeout(tooLong));
    if (this.#isCalm) await this.order({ do: 'calm' });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    this.#isMeant = true;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async order(order: Order): Promise<unknown> {
    const child = this.#child;
    if (!child?.connected) throw new Error('there is no process');
    const id = ++this.#orders;
    const answered = new Promise<{ value?: unknown; error?: string }>((resolve) => this.#answers.set(id, resolve));
    child.send({ id, order }, () => {});
    const { value, error } = await answered;
    this.#answers.delete(id);
    if (error !== undefined) throw new Error(error);
    return value;
  }

  async advance(ms: number): Promise<void> {
    this.#job.aheadMs += ms;
    // One that is starting was told another time, which is a clock that differs.
    await this.order({ do: 'advance', ms }).catch(() => {});
  }

  async calm(): Promise<void> {
    this.#isCalm = true;
    await this.order({ do: 'calm' });
  }
}

/** What faults are made of, and what clients talk to. */
export class SystemUnderChaos {
  readonly instances: Instance[];
  readonly troubles: string[];
  readonly random: Random;
  #next = 0;

  constructor(instances: Instance[], troubles: string[], seed: number) {
    this.instances = instances;
    this.troubles = troubles;
    this.random = seeded(seed);
  }

  /** To each in its turn. */
  readonly transport: Transport = (...call) => {
    this.#next = (this.#next + 1) % this.instances.length;
    const instance = this.instances[this.#next];
    if (!instance) throw new Error('there is nobody to call');
    return instance.transport(...call);
  };

  readonly admin: Caller = callerWith((...call) => this.transport(...call), ADMIN_KEY);

  now(): number {
    return Date.now() + Math.max(...this.instances.map(({ aheadMs }) => aheadMs));
  }

  async kill(which: number): Promise<void> {
    const instance = this.instances[which % this.instances.length];
    await instance?.kill();
    await instance?.start();
  }

  async advance(ms: number): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.advance(ms)));
  }

  async fill(isFull: boolean): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.order({ do: 'fill', isFull }).catch(() => {})));
  }

  async calm(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.calm()));
  }
}

export const newJob = async (job: Omit<Job, 'port' | 'aheadMs' | 'dir'> & Partial<Job>): Promise<Job> => ({
  port: await lastingPort(),
  aheadMs: 0,
  dir: '',
  ...job,
});
