import { setTimeout as pause } from 'node:timers/promises';
import type { Reply, TestAgent } from '../support/api.ts';
import { atEndOf, lastingPort, type Owner, type ServerProcess, startServer } from '../support/server-process.ts';

/** A server that is killed and comes back on the same folder and port, and callers who do not give up. */
export class RestartableServer {
  readonly #owner: Owner;
  readonly #dir: string;
  #process: ServerProcess;
  /** Resolves when it runs (again). */
  #up: Promise<void> = Promise.resolve();
  #answers = 0;
  #isOver = false;
  #awaited: { count: number; resolve: () => void } | undefined;

  private constructor(owner: Owner, dir: string, process: ServerProcess) {
    this.#owner = owner;
    this.#dir = dir;
    this.#process = process;
    atEndOf(owner, () => {
      this.#isOver = true;
    });
  }

  static async start(owner: Owner, dir: string): Promise<RestartableServer> {
    return new RestartableServer(owner, dir, await startServer(owner, { dir, port: await lastingPort() }));
  }

  agent(id: string): Promise<TestAgent> {
    return this.#process.agent(id);
  }

  async killAndRestart(): Promise<void> {
    const { port } = this.#process;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    this.#up = promise;
    await this.#process.kill('SIGKILL');
    try {
      this.#process = await startServer(this.#owner, { dir: this.#dir, port });
      resolve();
    } catch (error) {
      reject(error);
      throw error;
    }
  }

  /** Resolves once the messages that were answered are so many. */
  answers(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited = { count, resolve };
      this.#tell();
    });
  }

  /** The answer to a call that is made again, the very same, until there is one that is final. */
  async insist(call: () => Promise<Reply>): Promise<Reply> {
    while (!this.#isOver) {
      const reply = await call().catch(() => undefined);
      if (reply && reply.status < 500) return reply;
      if (reply) await pause(5);
      await this.#up;
    }
    throw new Error('the test is over');
  }

  /** The same for a message, and it must have been accepted. */
  async deliver(agent: TestAgent, message: object): Promise<void> {
    const reply = await this.insist(() => agent.send(message));
    if (reply.status !== 202 && reply.status !== 200) throw new Error(JSON.stringify(reply.body));
    this.#answers += 1;
    this.#tell();
  }

  /** The ids of all events of the type, by the task that they tell of. */
  eventIdsByTask(type: string): Promise<Map<string, Set<string>>> {
    return this.#eventIdsBy(type, 'taskId');
  }

  async eventIds(type: string): Promise<Set<string>> {
    const [ids = new Set<string>()] = (await this.#eventIdsBy(type, 'nothing')).values();
    return ids;
  }

  async #eventIdsBy(type: string, field: string): Promise<Map<string, Set<string>>> {
    const ids = new Map<string, Set<string>>();
    for (let after = '', last: string | undefined; after !== last; ) {
      last = after;
      const { body } = await this.#process.admin.call('GET', `/v1/events?type=${type}&limit=500${after}`);
      after = `&after=${encodeURIComponent(body.cursor)}`;
      for (const { id, data } of body.events) ids.set(data[field], (ids.get(data[field]) ?? new Set()).add(id));
    }
    return ids;
  }

  #tell(): void {
    if (this.#awaited && this.#answers >= this.#awaited.count) this.#awaited.resolve();
  }
}
