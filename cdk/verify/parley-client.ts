import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TimedAnswer {
  status: number;
  ms: number;
  body: unknown;
}

const DOMAIN = 'security';
const CAPABILITY = `${DOMAIN}.verification`;
const TEXT = 'Say whether this arrives, and send it back. '.repeat(23);
const SLOT_PAUSE_MS = 1000;

/** Calls a deployment as an agent or an administrator does. */
export class ParleyClient {
  readonly id: string;
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string, id = 'admin') {
    this.#url = url.replace(/\/$/, '');
    this.#key = key;
    this.id = id;
  }

  async call(method: string, path: string, body?: object): Promise<TimedAnswer> {
    const begun = performance.now();
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, ms: performance.now() - begun, body: parseJson(text) };
  }

  async expect(status: number, method: string, path: string, body?: object): Promise<TimedAnswer> {
    const answer = await this.call(method, path, body);
    if (answer.status === status) return answer;
    throw new Error(
      `${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.body).slice(0, 300)}`,
    );
  }

  /** A new agent, which answers to no protocol but that of Parley itself. */
  async register(name: string, declared: object = {}): Promise<ParleyClient> {
    const id = `verify-${name}-${randomUUID().slice(0, 8)}`;
    const { body } = await this.expect(201, 'PUT', `/v1/agents/${id}`, { dialect: 'native', ...declared });
    return new ParleyClient(this.#url, String(readField(body, 'key')), id);
  }

  registerWorker = (): Promise<ParleyClient> => this.register('worker', { domains: [DOMAIN] });

  async request(more: object = {}): Promise<{ taskId: string; ms: number }> {
    const id = randomUUID();
    const message = { kind: 'request', id, capability: CAPABILITY, input: { text: TEXT }, ...more };
    const { ms } = await this.expect(202, 'POST', '/v1/messages', message);
    return { taskId: id, ms };
  }

  /** Comes back where the deployment has no slot for a waiting call. */
  async claim(waitS: number): Promise<{ taskIds: string[]; ms: number }> {
    const until = performance.now() + waitS * 1000;
    for (;;) {
      const { body, ms } = await this.expect(200, 'POST', '/v1/claims', { max: 1, wait: waitS });
      const taskIds = readList(body, 'tasks').map((task) => String(readField(readField(task, 'message'), 'id')));
      if (taskIds.length > 0 || performance.now() >= until) return { taskIds, ms };
      await sleep(SLOT_PAUSE_MS);
    }
  }

  complete(taskId: string): Promise<TimedAnswer> {
    return this.expect(202, 'POST', '/v1/messages', { kind: 'result', taskId, output: { text: TEXT } });
  }

  async take(): Promise<{ messages: unknown[]; ms: number }> {
    const { body, ms } = await this.expect(200, 'GET', '/v1/inbox?mode=take&max=100');
    return { messages: readList(body, 'messages'), ms };
  }

  send(to: string, content: number): Promise<TimedAnswer> {
    return this.expect(202, 'POST', '/v1/messages', { kind: 'message', id: randomUUID(), to, content });
  }
}

export const readField = (value: unknown, field: string): unknown => Object(value)[field];
export const readList = (value: unknown, field: string): unknown[] => {
  const list = readField(value, field);
  return Array.isArray(list) ? list : [];
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
