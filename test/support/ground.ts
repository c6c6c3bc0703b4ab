import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Caller, Reply, TestAgent } from './api.ts';
import { eventually } from './eventually.ts';

/** What turns need of whoever runs them: agents, an administrator, and time to pass. */
export interface Ground {
  admin: Caller;
  agent(id: string, registration?: object): Promise<TestAgent>;
}

export const groundAgent = (ground: Ground, id: string, registration: object = {}): Promise<TestAgent> =>
  ground.agent(id, { dialect: 'common-ground', capabilities: [], ...registration });

export interface Held {
  agent_turn_id: string;
  turn_epoch: number;
  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  inbox: any[];
}

/** One worker of an agent, with the calls that it makes all day. */
export class Worker {
  readonly agent: TestAgent;

  constructor(agent: TestAgent) {
    this.agent = agent;
  }

  async lease(options: object = {}): Promise<Held | undefined> {
    const reply = await this.agent.call('POST', '/v1/turns/lease', { agent_id: this.agent.id, ...options });
    assert.ok([200, 204].includes(reply.status), JSON.stringify(reply.body));
    return reply.status === 200 ? reply.body : undefined;
  }

  /** A turn that must be there. */
  async take(options: object = {}): Promise<Held> {
    const held = await this.lease(options);
    assert.ok(held, 'there is no turn');
    return held;
  }

  /** Leased and started. */
  async begin(): Promise<Held> {
    const held = await this.take();
    await this.ok(held, 'start');
    return held;
  }

  say({ agent_turn_id, turn_epoch }: Held, verb: string, body: object = {}): Promise<Reply> {
    return this.agent.call('POST', `/v1/turns/${agent_turn_id}/${verb}`, { turn_epoch, ...body });
  }

  async ok(held: Held, verb: string, body: object = {}): Promise<Reply> {
    const reply = await this.say(held, verb, body);
    assert.equal(reply.status, 200, `${verb}: ${JSON.stringify(reply.body)}`);
    return reply;
  }

  async suspend(held: Held, calls: string[], more: object = {}): Promise<void> {
    await this.ok(held, 'suspend', { waiting: calls.map((call) => ({ tool_call_id: call, step_id: 's1' })), ...more });
  }

  async deliver(held: Held, content: object = { answer: 42 }, status = 'success'): Promise<string> {
    const card = await madeCard(this.agent, 'task.deliverable', content);
    await this.ok(held, 'deliver', { status, deliverable_card_id: card });
    return card;
  }
}

export const madeCard = async (caller: Caller, type: string, content: object): Promise<string> => {
  const reply = await caller.call('POST', '/v1/cards', { type, content });
  assert.ok([200, 201].includes(reply.status), JSON.stringify(reply.body));
  return reply.body.card_id;
};

export const called = (agent: string, overrides: object = {}) => ({
  agent_id: agent,
  correlation_id: randomUUID() as string,
  mode: 'call',
  payload: { ask: 'what is new?' },
  ...overrides,
});

/** The same as a message. */
export const callMessage = (agent: string, overrides: object = {}) => ({
  subject: `cg.v1r3.default.public.cmd.agent.${agent}.turn`,
  payload: called(agent, overrides),
});

export const enqueued = async (caller: Caller, agent: string, overrides: object = {}): Promise<string> => {
  const reply = await caller.call('POST', '/v1/turns', called(agent, overrides));
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return reply.body.agent_turn_id;
};

/** A tool that has done its work. */
export const toolReport = async (tool: Caller, agent: string, held: Held, call: string, overrides: object = {}) => ({
  message_type: 'tool_result',
  tool_call_id: call,
  agent_turn_id: held.agent_turn_id,
  turn_epoch: held.turn_epoch,
  agent_id: agent,
  after_execution: 'suspend',
  status: 'success',
  tool_result_card_id: await madeCard(tool, 'tool.result', { tool_call_id: call, status: 'success', result: { x: 1 } }),
  recursion_depth: 0,
  ...overrides,
});

export const reports = async (
  tool: Caller,
  agent: string,
  held: Held,
  call: string,
  overrides: object = {},
): Promise<Reply> =>
  tool.call('POST', `/v1/turns/${held.agent_turn_id}/reports`, await toolReport(tool, agent, held, call, overrides));

/** A command to one of the tools that Parley itself is. */
export const internal = (
  name: string,
  agent: string,
  { agent_turn_id, turn_epoch }: Held,
  call: string,
  card: string,
) => ({
  subject: `cg.v1r3.default.public.cmd.sys.pmo.internal.${name}`,
  payload: { tool_call_id: call, agent_turn_id, turn_epoch, agent_id: agent, tool_call_card_id: card },
});

interface Joined {
  status: string;
  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  result: any;
}

/** The result of the call, once it is there. */
export const resultOf = async (worker: Worker): Promise<Joined> => {
  const { inbox } = await eventually(() => worker.take());
  const { body } = await worker.agent.call('GET', `/v1/cards/${inbox[0].tool_result_card_id}`);
  return { status: inbox[0].status, result: body.content.result };
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
export const turnOf = async (caller: Caller, id: string): Promise<any> => {
  const reply = await caller.call('GET', `/v1/turns/${id}`);
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return reply.body;
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
export const headOf = async (caller: Caller, agent: string): Promise<any> => {
  const reply = await caller.call('GET', `/v1/agents/${agent}/head`);
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return reply.body;
};

/** Every event of a type, each once. */
// biome-ignore lint/suspicious/noExplicitAny: as in Reply
export const eventsOf = async (caller: Caller, ...types: string[]): Promise<any[]> => {
  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  const found = new Map<string, any>();
  for (let after = ''; ; ) {
    const query = `type=${types.join(',')}&limit=500${after && `&after=${encodeURIComponent(after)}`}`;
    const { body } = await caller.call('GET', `/v1/events?${query}`);
    for (const event of body.events) found.set(event.id, event);
    if (body.cursor === after) return [...found.values()];
    after = body.cursor;
  }
};

/** How a turn ended, each time that it was told. */
export const taskEvents = async (caller: Caller, turn: string) =>
  (await eventsOf(caller, 'evt.agent.task')).filter(({ data }) => data.payload.agent_turn_id === turn);
