import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { turnRef } from '../../shared/model/turn.ts';
import { callerWith } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, eventsOf, groundAgent, headOf, reports, toolReport, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** A turn that waits for a call, on a channel. */
const suspended = async (parley: TestParley, channel = 'public') => {
  const worker = new Worker(await groundAgent(parley, 'merlin', { channels: ['public', channel] }));
  await enqueued(parley.admin, 'merlin', { channel_id: channel });
  const held = await worker.begin();
  await worker.suspend(held, ['c1']);
  const command = (target: string) => ({
    subject: `cg.v1r3.default.${channel}.cmd.tool.${target}.execute`,
    payload: {
      tool_call_id: 'c1',
      agent_turn_id: held.agent_turn_id,
      turn_epoch: held.turn_epoch,
      agent_id: 'merlin',
    },
  });
  return { worker, held, command };
};

describe('a report', () => {
  it('is taken from the service that was called and from nobody else, so that no agent ends the turns of others', async (t) => {
    const parley = await testParley(t);
    const { worker, held, command } = await suspended(parley);
    const search = await groundAgent(parley, 'search');
    // The agent was called, not whoever has a capability of that name.
    const mordred = await groundAgent(parley, 'mordred', { capabilities: ['search'] });
    assert.equal((await reports(search, 'merlin', held, 'c1')).body.code, 'forbidden', 'it was not called yet');
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    const forged = await reports(mordred, 'merlin', held, 'c1', { after_execution: 'terminate' });
    assert.deepEqual([forged.status, forged.body.code], [403, 'forbidden']);
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    assert.equal((await reports(search, 'merlin', held, 'c1')).status, 202);
    assert.equal((await reports(search, 'merlin', held, 'c1')).body.reason, 'duplicate');
  });

  it('that comes over NATS is taken from no others', async (t) => {
    const parley = await testParley(t);
    const { worker, held, command } = await suspended(parley);
    for (const id of ['search', 'mordred']) await groundAgent(parley, id, { transport: 'nats' });
    const relay = callerWith(parley.transport, (await parley.admin.call('POST', '/v1/relay/key')).body.key);
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    const { recursion_depth: _depth, ...said } = await toolReport(parley.admin, 'merlin', held, 'c1');
    const saidBy = async (sender: string) => {
      const headers = { 'CG-Sender': sender, 'CG-Recursion-Depth': '0' };
      const arrivals = [{ subject: 'cg.v1r3.default.public.cmd.agent.merlin.tool_result', headers }];
      return (await relay.call('POST', '/v1/messages', { messages: [said], envelopes: arrivals })).body.results[0];
    };
    const forged = await saidBy('mordred');
    assert.deepEqual([forged.status, forged.body.code], [403, 'forbidden']);
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    const taken = await saidBy('search');
    assert.equal(taken.status, 202, JSON.stringify(taken));
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'running');
  });

  it('that comes late is taken and forgotten, though its card is gone', async (t) => {
    const parley = await testParley(t);
    const { worker, held } = await suspended(parley);
    const gone = { tool_result_card_id: `card_${'0'.repeat(64)}` };
    assert.equal((await reports(worker.agent, 'merlin', held, 'c1', gone)).status, 422);
    assert.equal((await reports(worker.agent, 'merlin', held, 'c1')).status, 202);
    const late = await reports(worker.agent, 'merlin', held, 'c1', gone);
    assert.deepEqual([late.status, late.body.reason], [200, 'duplicate']);
  });

  it('is taken from whoever has the capability that was called, from a coordinator, and from the agent itself', async (t) => {
    for (const registration of [{ capabilities: ['search'] }, { role: 'coordinator' }]) {
      const parley = await testParley(t);
      const { worker, held, command } = await suspended(parley);
      await groundAgent(parley, 'other', { capabilities: ['search'] });
      const one = await groundAgent(parley, 'one', registration);
      assert.equal((await worker.agent.send(command('search'))).status, 202);
      assert.equal((await reports(one, 'merlin', held, 'c1')).status, 202);
    }
    const parley = await testParley(t);
    const { worker, held } = await suspended(parley);
    assert.equal((await reports(worker.agent, 'merlin', held, 'c1')).status, 202);
  });
});

describe('a message', () => {
  const bell = { subject: 'cg.v1r3.default.public.cmd.agent.merlin.wakeup', payload: { agent_id: 'merlin' } };

  it('counts for the limit of its sender', async (t) => {
    const parley = await testParley(t);
    const merlin = await groundAgent(parley, 'merlin', { limits: { messagesPerMinute: 1 } });
    assert.equal((await merlin.send(bell)).status, 202);
    assert.equal((await merlin.send(bell)).body.code, 'rate_limited');
  });

  it('that calls an agent is answered with the turn that it became, and nothing of how that is kept', async (t) => {
    const parley = await testParley(t);
    const merlin = await groundAgent(parley, 'merlin');
    const call = {
      subject: 'cg.v1r3.default.public.cmd.agent.merlin.turn',
      payload: { agent_id: 'merlin', correlation_id: 'c-1', mode: 'call', payload: {} },
    };
    const { agentTurnId, ...rest } = (await merlin.send(call)).body;
    assert.deepEqual(rest, { id: 'c-1', dialect: 'common-ground', duplicate: false });
    assert.equal((await turnOf(merlin, agentTurnId)).correlation_id, 'c-1');
    assert.deepEqual((await merlin.send(call)).body, { ...rest, duplicate: true, agentTurnId });
  });

  it('that calls an agent without a depth is the same as one with the depth 0', async (t) => {
    const parley = await testParley(t);
    const merlin = await groundAgent(parley, 'merlin');
    const call = { agent_id: 'merlin', correlation_id: 'c-1', mode: 'call', payload: {} };
    assert.equal((await merlin.call('POST', '/v1/turns', call)).status, 201);
    assert.equal((await merlin.call('POST', '/v1/turns', { ...call, recursion_depth: 0 })).status, 200);
  });
});

describe('the subject of a message', () => {
  it('names the agent and the channel of the turn that it is about, or the message is refused', async (t) => {
    const parley = await testParley(t);
    const { held } = await suspended(parley, 't_round');
    const { message_type: _type, ...payload } = await toolReport(parley.admin, 'merlin', held, 'c1');
    const stop = { agent_id: 'merlin', agent_turn_id: held.agent_turn_id, turn_epoch: held.turn_epoch };
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
        ['public', 'merlin', 'channel'],
        ['t_round', 'morgana', 'subject'],
      ] as const) {
        const { body } = await send(channel, target, suffix, said);
        assert.deepEqual([body.code, body.violated], ['protocol_violation', violated], suffix);
      }
    }
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    assert.equal((await send('t_round', 'merlin', 'tool_result', payload)).status, 202);
    assert.equal((await send('t_round', 'merlin', 'stop', stop)).status, 202);
  });

  it('lets nobody ring on a channel of others, nor for somebody who is not there', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'merlin', { channels: ['public', 'u_bob'] });
    const outside = await groundAgent(parley, 'outside');
    const ring = (channel: string, target: string) => ({
      subject: `cg.v1r3.default.${channel}.cmd.agent.${target}.wakeup`,
      payload: { agent_id: target },
    });
    assert.equal((await outside.send(ring('u_bob', 'merlin'))).body.code, 'channel_forbidden');
    assert.equal((await outside.send(ring('public', 'nobody'))).body.code, 'unknown_agent');
    assert.equal((await outside.send(ring('public', 'merlin'))).status, 202);
  });
});

describe('a channel', () => {
  it('keeps to itself with which turn an agent is busy there', async (t) => {
    const parley = await testParley(t);
    const merlin = new Worker(await groundAgent(parley, 'merlin', { channels: ['public', 't_inner'] }));
    const [mordred, morgan] = [
      await groundAgent(parley, 'mordred'),
      await groundAgent(parley, 'morgan', { channels: ['public', 't_inner'] }),
    ];
    const open = await enqueued(mordred, 'merlin');
    const own = await enqueued(mordred, 'mordred');
    await merlin.deliver(await merlin.begin());
    const inner = await enqueued(morgan, 'merlin', { channel_id: 't_inner' });
    const { turn_epoch } = await merlin.begin();
    for (const caller of [merlin.agent, morgan, parley.admin]) {
      const head = await headOf(caller, 'merlin');
      assert.deepEqual([head.turn_epoch, head.active_agent_turn_id], [turn_epoch, inner]);
    }
    const { updated_at: _at, ...seen } = await headOf(mordred, 'merlin');
    assert.deepEqual(seen, { agent_id: 'merlin', status: 'running' });
    for (const [turn, agent_id] of [
      [open, undefined],
      [own, 'merlin'],
    ]) {
      const { body } = await mordred.call('POST', `/v1/turns/${turn}/stop`, { turn_epoch: turn_epoch - 1, agent_id });
      assert.equal(body.code, 'stale_turn');
      assert.deepEqual([body.state, body.turn_epoch, body.active_agent_turn_id], [undefined, undefined, undefined]);
    }
  });

  it('holds for the commands to a capability: they go to those of its agents that may use it', async (t) => {
    const parley = await testParley(t);
    const { worker, command } = await suspended(parley, 't_priv');
    const outside = await groundAgent(parley, 'outside', { capabilities: ['search'] });
    assert.equal((await worker.agent.send(command('search'))).body.code, 'channel_forbidden');
    const inside = await groundAgent(parley, 'inside', { capabilities: ['search'], channels: ['t_priv'] });
    assert.equal((await worker.agent.send(command('search'))).status, 202);
    assert.deepEqual(await outside.claim(), []);
    assert.equal((await inside.claim()).length, 1);
  });

  it('is found among many agents of a group, though the first of them may not use it', async (t) => {
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

  it('holds for the turns of a group, and those that an agent may not see do not stand before those that it may', async (t) => {
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

describe('the bell of a group', () => {
  const bells = async ({ admin }: TestParley) =>
    (await eventsOf(admin, 'cmd.agent.wakeup')).map(({ data }) => [data.payload.agent_id, data.payload.reason]);

  it('is rung for an agent of it that becomes free', async (t) => {
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

  it('is rung for the one agent that is free behind thirty that are not', async (t) => {
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

  it('does not get rarer while none of its agents is free', async (t) => {
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
