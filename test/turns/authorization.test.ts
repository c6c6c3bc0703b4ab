import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { turnRef } from '../../shared/model/turn.ts';
import { callerWith } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, eventsOf, groundAgent, headOf, reports, toolReport, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const suspended = async (parley: TestParley, channel = 'public') => {
  const worker = new Worker(await groundAgent(parley, 'worker', { channels: ['public', channel] }));
  await enqueued(parley.admin, 'worker', { channel_id: channel });
  const held = await worker.begin();
  await worker.suspend(held, ['c1']);
  const command = (target: string) => ({
    subject: `cg.v1r3.default.${channel}.cmd.tool.${target}.execute`,
    payload: {
      tool_call_id: 'c1',
      agent_turn_id: held.agent_turn_id,
      turn_epoch: held.turn_epoch,
      agent_id: 'worker',
    },
  });
  return { worker, held, command };
};

describe('report authorization', () => {
  it('accepts a report only from the agent that the tool call names', async (t) => {
    const parley = await testParley(t);
    const { worker, held, command } = await suspended(parley);
    const search = await groundAgent(parley, 'search');
    // The tool call names the agent, not the capability of the same name.
    const intruder = await groundAgent(parley, 'intruder', { capabilities: ['search'] });
    assert.equal((await reports(search, 'worker', held, 'c1')).body.code, 'forbidden', 'it was not called yet');
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    const forged = await reports(intruder, 'worker', held, 'c1', { after_execution: 'terminate' });
    assert.deepEqual([forged.status, forged.body.code], [403, 'forbidden']);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    assert.equal((await reports(search, 'worker', held, 'c1')).status, 202);
    assert.equal((await reports(search, 'worker', held, 'c1')).body.reason, 'duplicate');
  });

  it('accepts a report over NATS only from the agent that the tool call names', async (t) => {
    const parley = await testParley(t);
    const { worker, held, command } = await suspended(parley);
    for (const id of ['search', 'intruder']) await groundAgent(parley, id, { transport: 'nats' });
    const relay = callerWith(parley.transport, (await parley.admin.call('POST', '/v1/relay/key')).body.key);
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    const { recursion_depth: _depth, ...said } = await toolReport(parley.admin, 'worker', held, 'c1');
    const saidBy = async (sender: string) => {
      const headers = { 'CG-Sender': sender, 'CG-Recursion-Depth': '0' };
      const envelopes = [{ subject: 'cg.v1r3.default.public.cmd.agent.worker.tool_result', headers }];
      return (await relay.call('POST', '/v1/messages', { messages: [said], envelopes })).body.results[0];
    };
    const forged = await saidBy('intruder');
    assert.deepEqual([forged.status, forged.body.code], [403, 'forbidden']);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    const taken = await saidBy('search');
    assert.equal(taken.status, 202, JSON.stringify(taken));
    assert.equal((await headOf(parley.admin, 'worker')).status, 'running');
  });

  it('ignores a repeated report even when its card does not exist', async (t) => {
    const parley = await testParley(t);
    const { worker, held } = await suspended(parley);
    const gone = { tool_result_card_id: `card_${'0'.repeat(64)}` };
    assert.equal((await reports(worker.agent, 'worker', held, 'c1', gone)).status, 422);
    assert.equal((await reports(worker.agent, 'worker', held, 'c1')).status, 202);
    const late = await reports(worker.agent, 'worker', held, 'c1', gone);
    assert.deepEqual([late.status, late.body.reason], [200, 'duplicate']);
  });

  it('accepts a report from a provider of the called capability, from a coordinator and from the agent of the turn', async (t) => {
    for (const registration of [{ capabilities: ['search'] }, { role: 'coordinator' }]) {
      const parley = await testParley(t);
      const { worker, held, command } = await suspended(parley);
      await groundAgent(parley, 'other', { capabilities: ['search'] });
      const one = await groundAgent(parley, 'one', registration);
      assert.equal((await worker.agent.send(command('search'))).status, 202);
      assert.equal((await reports(one, 'worker', held, 'c1')).status, 202);
    }
    const parley = await testParley(t);
    const { worker, held } = await suspended(parley);
    assert.equal((await reports(worker.agent, 'worker', held, 'c1')).status, 202);
  });
});

describe('messages to agents', () => {
  const bell = { subject: 'cg.v1r3.default.public.cmd.agent.worker.wakeup', payload: { agent_id: 'worker' } };

  it('counts a wake-up against the rate limit of its sender', async (t) => {
    const parley = await testParley(t);
    const worker = await groundAgent(parley, 'worker', { limits: { messagesPerMinute: 1 } });
    assert.equal((await worker.send(bell)).status, 202);
    assert.equal((await worker.send(bell)).body.code, 'rate_limited');
  });

  it('returns the turn id of a call and no internal fields', async (t) => {
    const parley = await testParley(t);
    const worker = await groundAgent(parley, 'worker');
    const call = {
      subject: 'cg.v1r3.default.public.cmd.agent.worker.turn',
      payload: { agent_id: 'worker', correlation_id: 'c-1', mode: 'call', payload: {} },
    };
    const { agentTurnId, ...rest } = (await worker.send(call)).body;
    assert.deepEqual(rest, { id: 'c-1', dialect: 'common-ground', duplicate: false });
    assert.equal((await turnOf(worker, agentTurnId)).correlation_id, 'c-1');
    assert.deepEqual((await worker.send(call)).body, { ...rest, duplicate: true, agentTurnId });
  });

  it('deduplicates a call without a depth and the same call with depth 0', async (t) => {
    const parley = await testParley(t);
    const worker = await groundAgent(parley, 'worker');
    const call = { agent_id: 'worker', correlation_id: 'c-1', mode: 'call', payload: {} };
    assert.equal((await worker.call('POST', '/v1/turns', call)).status, 201);
    assert.equal((await worker.call('POST', '/v1/turns', { ...call, recursion_depth: 0 })).status, 200);
  });
});

describe('message subject', () => {
  it('rejects a message whose subject names another agent or channel than its turn', async (t) => {
    const parley = await testParley(t);
    const { held } = await suspended(parley, 't_round');
    const { message_type: _type, ...payload } = await toolReport(parley.admin, 'worker', held, 'c1');
    const stop = { agent_id: 'worker', agent_turn_id: held.agent_turn_id, turn_epoch: held.turn_epoch };
    const send = (channel: string, target: string, suffix: string, said: object) =>
      parley.admin.call('POST', '/v1/messages', {
        subject: `cg.v1r3.default.${channel}.cmd.agent.${target}.${suffix}`,
        headers: { 'CG-Recursion-Depth': '0' },
        payload: said,
      });
    for (const [suffix, said] of [
      ['tool_result', payload],
      ['stop', stop],
    ] as const) {
      for (const [channel, target, violated] of [
        ['public', 'worker', 'channel'],
        ['t_round', 'other-worker', 'subject'],
      ] as const) {
        const { body } = await send(channel, target, suffix, said);
        assert.deepEqual([body.code, body.violated], ['protocol_violation', violated], suffix);
      }
    }
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    assert.equal((await send('t_round', 'worker', 'tool_result', payload)).status, 202);
    assert.equal((await send('t_round', 'worker', 'stop', stop)).status, 202);
  });

  it('rejects a wake-up on a channel that the sender may not use and for an unknown agent', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'worker', { channels: ['public', 'u_bob'] });
    const outside = await groundAgent(parley, 'outside');
    const ring = (channel: string, target: string) => ({
      subject: `cg.v1r3.default.${channel}.cmd.agent.${target}.wakeup`,
      payload: { agent_id: target },
    });
    assert.equal((await outside.send(ring('u_bob', 'worker'))).body.code, 'channel_forbidden');
    assert.equal((await outside.send(ring('public', 'nobody'))).body.code, 'unknown_agent');
    assert.equal((await outside.send(ring('public', 'worker'))).status, 202);
  });
});

describe('channel', () => {
  it('hides the active turn of an agent from agents outside the channel of that turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker', { channels: ['public', 't_inner'] }));
    const [intruder, insider] = [
      await groundAgent(parley, 'intruder'),
      await groundAgent(parley, 'insider', { channels: ['public', 't_inner'] }),
    ];
    const open = await enqueued(intruder, 'worker');
    const own = await enqueued(intruder, 'intruder');
    await worker.deliver(await worker.begin());
    const inner = await enqueued(insider, 'worker', { channel_id: 't_inner' });
    const { turn_epoch } = await worker.begin();
    for (const caller of [worker.agent, insider, parley.admin]) {
      const head = await headOf(caller, 'worker');
      assert.deepEqual([head.turn_epoch, head.active_agent_turn_id], [turn_epoch, inner]);
    }
    const { updated_at: _at, ...seen } = await headOf(intruder, 'worker');
    assert.deepEqual(seen, { agent_id: 'worker', status: 'running' });
    for (const [turn, agent_id] of [
      [open, undefined],
      [own, 'worker'],
    ]) {
      const { body } = await intruder.call('POST', `/v1/turns/${turn}/stop`, { turn_epoch: turn_epoch - 1, agent_id });
      assert.equal(body.code, 'stale_turn');
      assert.deepEqual([body.state, body.turn_epoch, body.active_agent_turn_id], [undefined, undefined, undefined]);
    }
  });

  it('sends a tool command for a capability only to providers that may use its channel', async (t) => {
    const parley = await testParley(t);
    const { worker, command } = await suspended(parley, 't_priv');
    const outside = await groundAgent(parley, 'outside', { capabilities: ['search'] });
    assert.equal((await worker.agent.send(command('search'))).body.code, 'channel_forbidden');
    const inside = await groundAgent(parley, 'inside', { capabilities: ['search'], channels: ['t_priv'] });
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    assert.deepEqual(await outside.claim(), []);
    assert.equal((await inside.claim()).length, 1);
  });

  it('finds the one provider that may use the channel behind 60 that may not', async (t) => {
    const parley = await testParley(t);
    const { worker, command } = await suspended(parley, 't_priv');
    const others = Array.from({ length: 60 }, (_, n) => groundAgent(parley, `a-${n}`, { capabilities: ['search'] }));
    await Promise.all(others);
    const inside = new Worker(
      await groundAgent(parley, 'z-inside', { capabilities: ['search'], channels: ['public', 't_priv'] }),
    );
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    assert.equal((await inside.agent.claim()).length, 1);
    const turn = await enqueued(parley.admin, 'search', { channel_id: 't_priv' });
    await eventually(async () => {
      const rung = (await eventsOf(parley.admin, 'cmd.agent.wakeup')).map(({ data }) => data.payload.agent_id);
      assert.ok(rung.includes('z-inside'), rung.join());
    });
    assert.equal((await inside.take()).agent_turn_id, turn);
  });

  it('leases a group turn of an allowed channel although older turns of other channels wait', async (t) => {
    const parley = await testParley(t);
    const outside = new Worker(await groundAgent(parley, 'outside', { capabilities: ['scribe'] }));
    for (let n = 0; n < 12; n++) await enqueued(parley.admin, 'scribe', { channel_id: 't_priv' });
    parley.clock.advance(1);
    const open = await enqueued(parley.admin, 'scribe');
    assert.equal((await outside.take()).agent_turn_id, open);
    const inside = new Worker(await groundAgent(parley, 'inside', { capabilities: ['scribe'], channels: ['t_priv'] }));
    assert.equal((await inside.take()).inbox[0].channel_id, 't_priv');
  });
});

describe('group wake-ups', () => {
  const bells = async ({ admin }: TestParley) =>
    (await eventsOf(admin, 'cmd.agent.wakeup')).map(({ data }) => [data.payload.agent_id, data.payload.reason]);

  it('wakes an agent of the group when it becomes free', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'scribe-1', { capabilities: ['scribe'] }));
    await enqueued(parley.admin, 'scribe-1');
    const held = await worker.begin();
    const waiting = await enqueued(parley.admin, 'scribe');
    await worker.deliver(held);
    await eventually(async () =>
      assert.deepEqual(await bells(parley), [
        ['scribe-1', 'enqueue'],
        ['scribe-1', 'enqueue'],
      ]),
    );
    assert.equal((await worker.take()).agent_turn_id, waiting);
  });

  it('wakes the one free agent of a group behind thirty busy ones', async (t) => {
    const parley = await testParley(t);
    const free = groundAgent(parley, 'z-free', { capabilities: ['scribe'] });
    const busy = Array.from({ length: 30 }, async (_, n) => {
      const worker = new Worker(await groundAgent(parley, `a-${n}`, { capabilities: ['scribe'] }));
      await enqueued(parley.admin, `a-${n}`);
      await worker.begin();
    });
    await Promise.all([free, ...busy]);
    await enqueued(parley.admin, 'scribe');
    await eventually(async () => assert.deepEqual((await bells(parley)).at(-1), ['z-free', 'enqueue']));
  });

  it('does not slow down the wake-ups of a group while none of its agents is free', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'scribe-1', { capabilities: ['scribe'] }));
    await enqueued(parley.admin, 'scribe-1');
    await worker.begin();
    const waiting = await enqueued(parley.admin, 'scribe');
    const { records } = parley.parley.deps;
    const { wakeupMs } = parley.parley.deps.config.turns;
    for (let n = 0; n < 4; n++) {
      parley.clock.advance(2 * wakeupMs);
      const turn = await eventually(async () => {
        const found = await records.get(turnRef('default', waiting));
        assert.ok((found?.due ?? 0) > parley.clock.now());
        return found;
      });
      assert.equal(turn?.wakeupCount, 0);
    }
    assert.equal((await turnOf(parley.admin, waiting)).status, 'queued');
  });
});
