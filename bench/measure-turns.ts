import { median } from './numbers.ts';
import { type Opened, opened } from './opened.ts';
import type { Counts } from './options.ts';

export interface Turns {
  calls: { call: string; asks: string; p50Ms: number }[];
  oneAgent: { turns: number; perSecond: number };
  manyAgents: { agents: number; turns: number; perSecond: number; cpuMsPerTurn: number };
  /** From the call to the answer of a waiting worker. */
  enqueuedToLeasedMs: number;
}

const AT_ONCE = 64;

type Observe = (name: string, run: () => Promise<unknown>) => Promise<unknown>;

let turns = 0;

const live = async ({ call }: Opened, agent_id: string, card: string, observe: Observe): Promise<void> => {
  await observe('enqueue', () =>
    call('POST', '/v1/turns', { agent_id, correlation_id: `c${turns++}`, payload: { ask: 1 } }),
  );
  const held = Object(await observe('lease', () => call('POST', '/v1/turns/lease', { agent_id })));
  const { agent_turn_id, turn_epoch } = held;
  const say = (verb: string, body: object = {}) =>
    observe(verb, () => call('POST', `/v1/turns/${agent_turn_id}/${verb}`, { agent_id, turn_epoch, ...body }));
  await say('start');
  await say('step', { step_id: 's1', phase: 'planning' });
  await say('suspend', { waiting: [{ tool_call_id: 't1', step_id: 's1' }] });
  await say('reports', {
    agent_turn_id,
    tool_call_id: 't1',
    after_execution: 'suspend',
    status: 'success',
    tool_result_card_id: card,
    recursion_depth: 0,
  });
  await observe('take up', () => call('POST', '/v1/turns/lease', { agent_id }));
  await say('deliver', { status: 'success', deliverable_card_id: card });
};

const unseen: Observe = (_, run) => run();

export const measureTurns = async ({ operations, audience, livesPerRound }: Counts): Promise<Turns> => {
  const bench = await opened();
  const { call } = bench;
  const agents = Array.from({ length: audience }, (_, at) => `agent-${at}`);
  for (const id of agents) await call('PUT', `/v1/agents/${id}`, { dialect: 'common-ground' });
  const { card_id: card } = await call('POST', '/v1/cards', { type: 'tool.result', content: { result: 1 } });
  const calls = await measureCalls(bench, card, operations);
  const oneAgent = await measureOne(bench, card, operations);
  const manyAgents = await measureMany(bench, card, agents, livesPerRound);
  const enqueuedToLeasedMs = await measureWait(bench, card, operations);
  await bench.close();
  return { calls, oneAgent, manyAgents, enqueuedToLeasedMs };
};

const measureCalls = async (bench: Opened, card: string, rounds: number): Promise<Turns['calls']> => {
  const seen = new Map<string, { asks: string; ms: number[] }>();
  const observe: Observe = async (name, run) => {
    bench.calls.take();
    const begun = performance.now();
    const answer = await run();
    const ms = performance.now() - begun;
    const { text } = bench.calls.take();
    seen.set(name, { asks: text, ms: [...(seen.get(name)?.ms ?? []), ms] });
    return answer;
  };
  for (let n = 0; n < rounds; n++) await live(bench, 'agent-0', card, observe);
  return [...seen].map(([name, { asks, ms }]) => ({ call: name, asks, p50Ms: median(ms) }));
};

const measureOne = async (bench: Opened, card: string, count: number): Promise<Turns['oneAgent']> => {
  const begun = performance.now();
  for (let n = 0; n < count; n++) await live(bench, 'agent-0', card, unseen);
  return { turns: count, perSecond: (count * 1000) / (performance.now() - begun) };
};

const measureMany = async (
  bench: Opened,
  card: string,
  agents: string[],
  least: number,
): Promise<Turns['manyAgents']> => {
  const rounds = Math.max(1, Math.ceil(least / agents.length));
  const [begun, cpu] = [performance.now(), process.cpuUsage()];
  for (let round = 0; round < rounds; round++) {
    const left = [...agents];
    const work = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) await live(bench, id, card, unseen);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
  const { user, system } = process.cpuUsage(cpu);
  const count = rounds * agents.length;
  return {
    agents: agents.length,
    turns: count,
    perSecond: (count * 1000) / (performance.now() - begun),
    cpuMsPerTurn: (user + system) / 1000 / count,
  };
};

const measureWait = async ({ call }: Opened, card: string, count: number): Promise<number> => {
  const samples: number[] = [];
  const agent_id = 'agent-1';
  for (let n = 0; n < count; n++) {
    const waiting = call('POST', '/v1/turns/lease', { agent_id, wait: 20 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const begun = performance.now();
    await call('POST', '/v1/turns', { agent_id, correlation_id: `w${turns++}` });
    const { agent_turn_id, turn_epoch } = await waiting;
    samples.push(performance.now() - begun);
    const say = (verb: string, body: object = {}) =>
      call('POST', `/v1/turns/${agent_turn_id}/${verb}`, { agent_id, turn_epoch, ...body });
    await say('start');
    await say('deliver', { status: 'success', deliverable_card_id: card });
  }
  return median(samples);
};
