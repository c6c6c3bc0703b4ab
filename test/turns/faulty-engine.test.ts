import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { turnRef } from '../../shared/model/turn.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import type { Reply } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { called } from '../support/ground.ts';
import { type HostileParley, hostileParley } from '../support/hostile-parley.ts';
import { seeded } from '../support/hostile-ports.ts';

const AGENTS = ['worker', 'other-worker', 'third-worker'];
const TURNS_EACH = 5;
const PATIENCE_MS = 60_000;

const insist = async (ask: () => Promise<Reply>): Promise<Reply> => {
  for (;;) {
    const reply = await ask();
    if (reply.status < 500) return reply;
  }
};

/** A worker that dies at any point and then starts again with a lease. */
const work = async (parley: HostileParley, agent: string, random: () => number, stop: AbortSignal): Promise<void> => {
  const call = (path: string, body: object) => parley.admin.call('POST', `/v1/turns${path}`, body);
  while (!stop.aborted) {
    const { status, body } = await insist(() => call('/lease', { agent_id: agent, wait: 1 }));
    if (status !== 200) continue;
    const { agent_turn_id: turn, turn_epoch, inbox } = body;
    const say = (verb: string, more: object = {}) =>
      insist(() => call(`/${turn}/${verb}`, { agent_id: agent, turn_epoch, ...more }));
    const dies = () => random() < 0.1;
    if (inbox[0].message_type === 'turn') {
      if (dies() || (await say('start')).status !== 200) continue;
      if (dies() || (await say('step', { step_id: 's1', phase: 'think' })).status !== 200) continue;
      const tool_call_id = randomUUID();
      if (
        dies() ||
        (await say('suspend', { waiting: [{ tool_call_id, step_id: 's1' }], deadline_seconds: 60 })).status !== 200
      )
        continue;
      if (dies()) continue;
      const card = await insist(() =>
        parley.admin.call('POST', '/v1/cards', { type: 'tool.result', content: { result: 1 } }),
      );
      const report = {
        tool_call_id,
        agent_turn_id: turn,
        agent_id: agent,
        after_execution: 'suspend',
        status: 'success',
      };
      await say('reports', { ...report, tool_result_card_id: card.body.card_id, recursion_depth: 0 });
      continue;
    }
    if (dies()) continue;
    const deliverable = { type: 'task.deliverable', content: { done: true } };
    const { body: made } = await insist(() => parley.admin.call('POST', '/v1/cards', deliverable));
    await say('deliver', { status: 'success', deliverable_card_id: made.card_id });
  }
};

const liveThrough = async (t: TestContext, seed: number): Promise<void> => {
  const random = seeded(seed);
  const parley = await hostileParley(t, random);
  for (const id of AGENTS) {
    await insist(() => parley.admin.call('PUT', `/v1/agents/${id}`, { dialect: 'common-ground' }));
  }
  const stop = new AbortController();
  const working = AGENTS.map((id) => work(parley, id, random, stop.signal));
  const turns: string[] = [];
  try {
    for (let n = 0; n < TURNS_EACH * AGENTS.length; n++) {
      const wanted = called(AGENTS[n % AGENTS.length] ?? '');
      const { body } = await insist(() => parley.admin.call('POST', '/v1/turns', wanted));
      assert.ok(body.agent_turn_id, JSON.stringify(body));
      turns.push(body.agent_turn_id);
    }
    await eventually(async () => {
      const found = await parley.truth.records.getMany(turns.map((id) => turnRef('default', id)));
      const open = found.filter(({ end }) => end === undefined).map(({ id, state, agent }) => ({ id, state, agent }));
      assert.equal(found.length, turns.length);
      assert.deepEqual(open, []);
      assert.ok(found.some(({ end }) => end?.status === 'success'));
    }, PATIENCE_MS);
  } finally {
    stop.abort();
    await Promise.allSettled(working);
  }
  await Promise.all(working);
  assert.equal(new Set(turns).size, TURNS_EACH * AGENTS.length, 'each call is a turn of its own');
  await eventually(async () => {
    const told = (await taskEvents(parley)).map(({ data }) => JSON.stringify(data.payload));
    // An event may be published twice, but there is one event per turn.
    const ids = [...new Set(told)].map((text) => JSON.parse(text).agent_turn_id);
    assert.deepEqual(ids.toSorted(), turns.toSorted());
  });
};

const taskEvents = async ({ truth }: HostileParley): Promise<ParleyEvent[]> => {
  const events: ParleyEvent[] = [];
  for (let after: string | undefined; ; ) {
    const page = await truth.events.read('default', { types: ['evt.agent.task'], after, limit: 500 });
    events.push(...page.events);
    if (page.cursor === after) return events;
    after = page.cursor;
  }
};

describe('turns on a faulty engine', () => {
  for (const seed of [1, 2]) {
    it(`ends every turn once despite lost wake-ups, lost answers and killed workers (seed ${seed})`, (t) =>
      liveThrough(t, seed));
  }
});
