import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import type { RestartableServer } from './restartable-server.ts';

/** What the agents that finished the tasks sent as their results. */
export type Finished = Map<string, object>;

const AT_ONCE = 4;

/** Asks for tasks and reads what became of them. */
export class Requester {
  readonly agent: TestAgent;
  readonly accepted: string[] = [];
  /** The results in the inbox, by task, each message counted once. */
  readonly outcomes = new Map<string, object[]>();
  readonly #server: RestartableServer;

  constructor(server: RestartableServer, agent: TestAgent) {
    this.#server = server;
    this.agent = agent;
  }

  async request(count: number, random: () => number): Promise<void> {
    let left = count;
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        // Some are too large for the record and go into files.
        const text = 'x'.repeat(random() < 0.1 ? 6000 : 60);
        const message = taskRequest(this.agent.id, { payload: { params: { text } } });
        await this.#server.deliver(this.agent, message);
        this.accepted.push(message.id);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  }

  /** What was acknowledged must not come again; what was not may. */
  async readInbox(count: number): Promise<void> {
    const acknowledged = new Set<string>();
    while (acknowledged.size < count) {
      const { body } = await this.#server.insist(() => this.agent.call('GET', '/v1/inbox?max=50&wait=1'));
      const ids: string[] = [];
      for (const { id, correlationId, payload } of body.messages) {
        assert.ok(!acknowledged.has(id), `${id} came again after it was acknowledged`);
        ids.push(id);
        this.outcomes.set(correlationId, [...(this.outcomes.get(correlationId) ?? []), payload.result]);
      }
      if (ids.length === 0) continue;
      const reply = await this.#server.insist(() => this.agent.call('POST', '/v1/inbox/ack', { ids }));
      assert.equal(reply.status, 200);
      for (const id of ids) acknowledged.add(id);
    }
  }
}

/** Claims tasks and finishes them. */
export class Worker {
  readonly #server: RestartableServer;
  readonly #agent: TestAgent;
  readonly #finished: Finished;

  constructor(server: RestartableServer, agent: TestAgent, finished: Finished) {
    this.#server = server;
    this.#agent = agent;
    this.#finished = finished;
  }

  async workUntil(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      for (const id of await this.#claim()) await this.#finish(id);
    }
  }

  async #claim(): Promise<string[]> {
    const claim = { claimId: randomUUID(), max: 3, wait: 0.5 };
    const { status, body } = await this.#server.insist(() => this.#agent.call('POST', '/v1/claims', claim));
    if (status === 200) return body.tasks.map((task: { message: { id: string } }) => task.message.id);
    assert.equal(body.code, 'claim_in_progress');
    return this.#held();
  }

  /** A claim that died with the server counts as running for a while; what it brought is in the list of tasks. */
  async #held(): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const path = `/v1/tasks?agent=${this.#agent.id}&status=claimed&limit=100${cursor && `&cursor=${cursor}`}`;
      const { body } = await this.#server.insist(() => this.#agent.call('GET', path));
      ids.push(...body.tasks.map((task: { id: string }) => task.id));
      cursor = body.cursor && encodeURIComponent(body.cursor);
    }
    return ids;
  }

  async #finish(id: string): Promise<void> {
    const result = { format: 'markdown', content: `${this.#agent.id} ${randomUUID()}` };
    await this.#server.deliver(this.#agent, about('task.result', this.#agent.id, id, { status: 'completed', result }));
    assert.ok(!this.#finished.has(id), `${id} was finished twice`);
    this.#finished.set(id, result);
  }
}
