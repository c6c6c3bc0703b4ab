import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back, and fail where it is not there
  body: any;
}

export type Transport = (
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | Uint8Array | undefined,
) => Promise<Reply>;

export interface Caller {
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
}

/** The API as one key sees it. A body that is text or bytes is sent as it is, anything else as JSON. */
export const callerWith = (transport: Transport, key: string | undefined): Caller => ({
  call: (method, path, body, headers = {}) => {
    const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const isRaw = typeof body === 'string' || body instanceof Uint8Array || body === undefined;
    return transport(method, path, { ...authorization, ...headers }, isRaw ? body : JSON.stringify(body));
  },
});

export const httpTransport =
  (base: string): Transport =>
  async (method, path, headers, body) => {
    const response = await fetch(base + path, {
      method,
      headers,
      body: typeof body === 'string' ? body : body && Buffer.from(body),
    });
    const text = await response.text();
    return { status: response.status, headers: Object.fromEntries(response.headers), body: parsed(text) };
  };

export const parsed = (text: string): unknown => {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
};

/** An agent that speaks Round Table, with the calls that it makes all day. */
export class TestAgent implements Caller {
  readonly id: string;
  readonly key: string;
  readonly #caller: Caller;

  constructor(id: string, key: string, transport: Transport) {
    this.id = id;
    this.key = key;
    this.#caller = callerWith(transport, key);
  }

  call(...args: Parameters<Caller['call']>): Promise<Reply> {
    return this.#caller.call(...args);
  }

  send(message: object): Promise<Reply> {
    return this.call('POST', '/v1/messages', message);
  }

  /** Sends a request, sees it accepted, and gives its task id. */
  async request(overrides: Parameters<typeof taskRequest>[1] = {}): Promise<string> {
    const message = taskRequest(this.id, overrides);
    const reply = await this.send(message);
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    return message.id;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  async claim(options: object = {}): Promise<any[]> {
    const reply = await this.call('POST', '/v1/claims', options);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body.tasks;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  async task(id: string, waitSeconds = 0): Promise<any> {
    const reply = await this.call('GET', `/v1/tasks/${id}?wait=${waitSeconds}`);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  async inbox(waitSeconds = 0): Promise<any[]> {
    const reply = await this.call('GET', `/v1/inbox?wait=${waitSeconds}`);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body.messages;
  }

  claimed(taskId: string, payload: object = {}): Promise<Reply> {
    return this.send(about('task.claimed', this.id, taskId, payload));
  }

  progress(taskId: string, payload: object = { percent: 50 }): Promise<Reply> {
    return this.send(about('task.progress', this.id, taskId, payload));
  }

  complete(taskId: string, result: object = { format: 'markdown', content: 'done' }): Promise<Reply> {
    return this.send(about('task.result', this.id, taskId, { status: 'completed', result }));
  }

  fail(taskId: string, payload: object = { error: 'model_error', message: 'it broke' }): Promise<Reply> {
    return this.send(about('task.failed', this.id, taskId, payload));
  }
}

const TIMESTAMP = '2026-02-08T15:00:00Z';

export const taskRequest = (from: string, overrides: { payload?: object; [field: string]: unknown } = {}) => ({
  id: randomUUID() as string,
  version: '1.0',
  type: 'task.request',
  from,
  timestamp: TIMESTAMP,
  ...overrides,
  payload: { task: 'security.briefing', params: { scope: 'daily' }, ...overrides.payload },
});

export const about = (type: string, from: string, taskId: string, payload: object) => ({
  id: randomUUID() as string,
  version: '1.0',
  type,
  from,
  timestamp: TIMESTAMP,
  correlationId: taskId,
  payload,
});

/** Registers an agent with an admin key. */
export const registered = async (
  transport: Transport,
  admin: Caller,
  id: string,
  registration: object = { capabilities: ['security.briefing'] },
  query = '',
): Promise<TestAgent> => {
  const reply = await admin.call('PUT', `/v1/agents/${id}${query}`, { dialect: 'round-table', ...registration });
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return new TestAgent(id, reply.body.key, transport);
};
