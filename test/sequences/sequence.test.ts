import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sequenceRef } from '../../shared/messaging/sequences/sequence.ts';
import { MAX_SEQUENCE } from '../../shared/model/command.ts';
import { settled } from '../http/refusal.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const sender = await parley.agent('sender', messageRouting);
  const reader = await parley.agent('reader', messageRouting);
  const send = async (sequence: number) => {
    const message = mrMessage('status-update', 'sender', 'reader', { sequence });
    assert.equal((await sender.send(message)).status, 202);
    return message;
  };
  const count = async () => (await sender.call('GET', '/v1/agents/sender/sequence?to=reader')).body;
  return { parley, sender, reader, send, count };
};

const announced = async (parley: TestParley): Promise<[string, number][]> => {
  await settled(parley);
  const { events } = (await parley.admin.call('GET', '/v1/events?limit=100')).body;
  return events
    .filter(({ type }: Wire) => type.startsWith('sequence.'))
    .map(({ type, data }: Wire) => [type, data.sequence]);
};

describe('message sequence', () => {
  it('returns the next sequence number, also before the first message', async (t) => {
    const { send, count, parley } = await start(t);
    assert.deepEqual([(await count()).last, (await count()).next], [0, 1]);
    await send(1);
    await send(2);
    const { last, next, missing, gaps, repeats, resets } = await count();
    assert.deepEqual(
      { last, next, missing, gaps, repeats, resets },
      {
        last: 2,
        next: 3,
        missing: [],
        gaps: 0,
        repeats: 0,
        resets: 0,
      },
    );
    assert.deepEqual(await announced(parley), []);
  });

  it('returns 1 as the next sequence number after the highest one', async (t) => {
    const { sender, send, count } = await start(t);
    await send(MAX_SEQUENCE - 1);
    assert.equal((await count()).next, MAX_SEQUENCE);
    await send(MAX_SEQUENCE);
    const { last, next } = await count();
    assert.deepEqual([last, next], [MAX_SEQUENCE, 1]);
    await send(next);
    const beyond = mrMessage('status-update', 'sender', 'reader', { sequence: Number.MAX_SAFE_INTEGER });
    assert.equal((await sender.send(beyond)).body.code, 'invalid_message');
  });

  it('shows and publishes gaps, late messages, repeats and resets of a sequence', async (t) => {
    const { send, count, parley } = await start(t);
    for (const sequence of [1, 5, 3, 6]) await send(sequence);
    assert.deepEqual((await count()).missing, [
      { from: 2, to: 2 },
      { from: 4, to: 4 },
    ]);
    for (const sequence of [5, 1, 2]) await send(sequence);
    const { last, missing, gaps, late, repeats, resets } = await count();
    assert.deepEqual([last, missing, gaps, late, repeats, resets], [2, [], 1, 1, 1, 1]);
    assert.deepEqual(await announced(parley), [
      ['sequence.gap', 5],
      ['sequence.late', 3],
      ['sequence.repeat', 5],
      ['sequence.reset', 1],
    ]);
  });

  it('counts the numbers before a first message as missing', async (t) => {
    const { send, count } = await start(t);
    await send(3);
    assert.deepEqual((await count()).missing, [{ from: 1, to: 2 }]);
  });

  it('counts neither a repeated nor a rejected message in its sequence', async (t) => {
    const { sender, send, count } = await start(t);
    const first = await send(1);
    const second = await send(2);
    for (const message of [first, second, first]) assert.equal((await sender.send(message)).body.duplicate, true);
    const beat = mrMessage('heartbeat', 'sender', 'reader', { sequence: 3 });
    for (const status of [202, 200]) assert.equal((await sender.send(beat)).status, status);
    const order = mrMessage('command', 'sender', 'reader', { sequence: 4 });
    assert.equal((await sender.send(order)).status, 403);
    const { last, gaps, repeats } = await count();
    assert.deepEqual([last, gaps, repeats], [3, 0, 0]);
  });

  it('creates no sequence record for an unknown recipient', async (t) => {
    const { parley, sender } = await start(t);
    const beat = mrMessage('heartbeat', 'sender', 'nobody', { sequence: 1 });
    assert.equal((await sender.send(beat)).status, 202);
    assert.equal(await parley.parley.deps.records.get(sequenceRef('default', 'sender', 'nobody')), undefined);
  });

  it('counts concurrent messages of a sequence in any order', async (t) => {
    const { send, count } = await start(t);
    await Promise.all([5, 3, 1, 4, 2].map(send));
    const { last, missing, repeats, resets } = await count();
    assert.deepEqual([last, missing, repeats, resets], [5, [], 0, 0]);
  });

  it('rejects a read of a sequence by an agent other than the sender and the recipient', async (t) => {
    const { parley, reader } = await start(t);
    const stranger = await parley.agent('stranger', messageRouting);
    const path = '/v1/agents/sender/sequence?to=reader';
    assert.equal((await reader.call('GET', path)).status, 200);
    assert.equal((await parley.admin.call('GET', path)).status, 200);
    assert.equal((await stranger.call('GET', path)).body.code, 'forbidden');
    assert.equal((await parley.admin.call('GET', '/v1/agents/nobody/sequence?to=reader')).body.code, 'agent_not_found');
    assert.equal((await parley.admin.call('GET', '/v1/agents/sender/sequence')).body.code, 'invalid_request');
  });
});

describe('version negotiation', () => {
  it('returns the highest common version of two agents', async (t) => {
    const parley = await testParley(t);
    const agent = (id: string, versions?: string[]) => parley.agent(id, { ...messageRouting, versions });
    const one = await agent('one', ['1.0.0', '1.10.0', '1.9.1', 'draft']);
    await agent('two', ['1.10', '1.9.1', '2.0.0', 'draft']);
    await agent('three', ['3.0.0']);
    await agent('four');
    const version = async (other: string) => (await one.call('GET', `/v1/agents/one/version?with=${other}`)).body;
    assert.deepEqual([(await version('two')).version, (await version('four')).version], ['1.10.0', '1.0.0']);
    const { code, spoken } = await version('three');
    assert.deepEqual([code, spoken.three], ['no_common_version', ['3.0.0']]);
    await agent('five', ['v1r9', 'v1r10']);
    const grounded = await parley.admin.call('GET', '/v1/agents/five/version?with=five');
    assert.equal(grounded.body.version, 'v1r10');
    assert.equal((await version('nobody')).code, 'agent_not_found');
  });
});
