import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import type { Caller, Reply, TestAgent } from '../support/api.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const DAY_MS = 86_400_000;

const PUBLIC_ONLY = { project: 'default', channels: ['public'] };
const CONSUMERS = {
  observer: { ...PUBLIC_ONLY, types: ['task.requested'], agents: ['reader', 'helper'] },
  auditor: { ...PUBLIC_ONLY, types: ['task.*'], agents: ['helper'] },
  elsewhere: { ...PUBLIC_ONLY, project: 'other', types: ['*'], agents: ['reader'] },
  idle: { ...PUBLIC_ONLY, types: ['never.happens'], agents: [] },
};

interface World {
  parley: TestParley;
  reader: TestAgent;
  requester: TestAgent;
  happened(count: number): Promise<string[]>;
}

const world = async (t: TestContext): Promise<World> => {
  const parley = await testParley(t, { config: { consumers: CONSUMERS } });
  const [reader, requester] = [await parley.agent('reader'), await parley.agent('requester')];
  await settled(parley);
  await parley.admin.call('POST', '/v1/consumers/observer/rewind', { to: 'end' });
  await parley.admin.call('POST', '/v1/consumers/auditor/rewind', { to: 'end' });
  return {
    parley,
    reader,
    requester,
    happened: async (count) => {
      const ids: string[] = [];
      for (let number = 0; number < count; number++) ids.push(await requester.request({ ttl: 604_800 }));
      await settled(parley);
      return ids;
    },
  };
};

const take = async (by: Caller, wanted: object = {}, name = 'observer') => {
  const { status, body } = await by.call('POST', `/v1/consumers/${name}/events`, wanted);
  assert.equal(status, 200, JSON.stringify(body));
  const events: { type: string; data: { taskId: string; from: string } }[] = body.events;
  const ids = events.filter(({ data }) => data.from === 'requester').map(({ data }) => data.taskId);
  return { ids, events, receipt: body.receipt, until: body.until };
};

const ack = (by: Caller, receipt: string, name = 'observer'): Promise<Reply> =>
  by.call('POST', `/v1/consumers/${name}/ack`, { receipt });

describe('durable consumer', () => {
  it('gives a consumer each event of its types once, in order, as it acknowledges them', async (t) => {
    const { reader, happened } = await world(t);
    const ids = await happened(5);
    const first = await take(reader, { max: 2 });
    assert.deepEqual(first.ids, ids.slice(0, 2));
    assert.deepEqual(await ack(reader, first.receipt).then(({ status, body }) => [status, body]), [
      200,
      { duplicate: false },
    ]);
    const rest = await take(reader);
    assert.deepEqual(rest.ids, ids.slice(2));
    await ack(reader, rest.receipt);
    assert.deepEqual(await take(reader), { ids: [], events: [], receipt: undefined, until: undefined });
  });

  it('starts a consumer with the oldest event of the log', async (t) => {
    const parley = await testParley(t, { config: { consumers: CONSUMERS } });
    const requester = await parley.agent('requester');
    const id = await requester.request();
    await settled(parley);
    assert.equal((await take(parley.admin)).ids[0], id);
  });

  it('gives an event to one of the racing instances of a consumer', async (t) => {
    const { reader, parley, happened } = await world(t);
    const helper = await parley.agent('helper');
    const ids = await happened(12);
    const taken = await Promise.all(Array.from({ length: 6 }, (_, n) => take(n % 2 ? helper : reader, { max: 2 })));
    assert.deepEqual(taken.flatMap((one) => one.ids).toSorted(), ids.toSorted());
    for (const { receipt } of taken.toReversed()) assert.equal((await ack(helper, receipt)).status, 200);
    assert.deepEqual((await take(helper)).ids, []);
  });

  it('gives unacknowledged events to another instance after the lease, and rejects the old receipt', async (t) => {
    const { reader, parley, happened } = await world(t);
    const helper = await parley.agent('helper');
    const ids = await happened(4);
    const lost = await take(reader, { max: 2, lease: 30 });
    const slow = await take(reader, { max: 1, lease: 300 });
    parley.clock.advance(29_000);
    assert.deepEqual((await take(helper, { max: 1 })).ids, ids.slice(3));
    parley.clock.advance(1000);
    const again = await take(helper, { lease: 30 });
    assert.deepEqual(again.ids, ids.slice(0, 2));
    assertRefused(await ack(reader, lost.receipt), 409, 'stale_receipt');
    assert.equal((await ack(helper, again.receipt)).status, 200);
    assert.equal((await ack(reader, slow.receipt)).status, 200);
  });

  it('accepts a late acknowledgement while nobody else holds the events', async (t) => {
    const { reader, parley, happened } = await world(t);
    await happened(1);
    const { receipt } = await take(reader, { lease: 30 });
    parley.clock.advance(60_000);
    assert.equal((await ack(reader, receipt)).status, 200);
    assert.deepEqual((await take(reader)).ids, []);
  });

  it('accepts a repeated acknowledgement without effect, and rejects an unknown receipt', async (t) => {
    const { reader, happened } = await world(t);
    await happened(2);
    const { receipt } = await take(reader, { max: 1 });
    await ack(reader, receipt);
    assert.deepEqual((await ack(reader, receipt)).body, { duplicate: true });
    const [generation] = receipt.split('.');
    for (const other of [`${generation}.99.1`, `${Number(generation) + 1}.1.1`, '0.0.0']) {
      assertRefused(await ack(reader, other), 409, 'stale_receipt');
    }
    assertRefused(await ack(reader, 'x'), 400, 'invalid_request');
    assert.equal((await take(reader)).ids.length, 1);
  });

  it('continues a consumer at its cursor after a restart', async (t) => {
    const { reader, parley, happened } = await world(t);
    const ids = await happened(3);
    await ack(reader, (await take(reader, { max: 1 })).receipt);
    const inHand = await take(reader, { max: 1, lease: 60 });
    await parley.restart();
    assert.deepEqual((await take(reader)).ids, ids.slice(2));
    assert.equal((await ack(reader, inHand.receipt)).status, 200);
  });

  it('keeps consumers independent of the acknowledgements and rewinds of others', async (t) => {
    const { parley, happened } = await world(t);
    const helper = await parley.agent('helper');
    const ids = await happened(3);
    const mine = await take(helper);
    await ack(helper, mine.receipt);
    const audited = await take(helper, { max: 3 }, 'auditor');
    assert.deepEqual(audited.ids, ids);
    assert.equal((await helper.call('POST', '/v1/consumers/observer/rewind', { to: 'start' })).status, 204);
    assert.deepEqual((await take(helper)).ids.slice(-3), ids);
    assert.equal((await ack(helper, audited.receipt, 'auditor')).status, 200);
    assert.ok((await take(helper, {}, 'auditor')).events.every(({ type }) => type !== 'task.requested'));
  });

  it('rewinds a consumer to a time, and rejects a malformed rewind target', async (t) => {
    const { reader, parley, happened } = await world(t);
    await happened(2);
    parley.clock.advance(3 * DAY_MS);
    const then = new Date(parley.clock.now()).toISOString();
    const later = await happened(2);
    parley.clock.advance(3 * DAY_MS);
    const latest = await happened(2);
    const before = await take(reader);
    assert.equal((await reader.call('POST', '/v1/consumers/observer/rewind', { to: then })).status, 204);
    assertRefused(await ack(reader, before.receipt), 409, 'stale_receipt');
    assert.deepEqual((await take(reader)).ids, [...later, ...latest]);
    await reader.call('POST', '/v1/consumers/observer/rewind', { to: 'end' });
    assert.deepEqual((await take(reader)).ids, []);
    for (const to of ['yesterday', '2026-03-01', 5, undefined]) {
      assertRefused(await reader.call('POST', '/v1/consumers/observer/rewind', { to }), 400, 'invalid_request');
    }
  });

  it('gives a consumer missed events after a week, and skips those that the log no longer keeps', async (t) => {
    const { reader, parley, happened } = await world(t);
    const ids = await happened(1);
    const inHand = await take(reader, { lease: 60 });
    assert.deepEqual(inHand.ids, ids);
    parley.clock.advance(7 * DAY_MS);
    const again = await take(reader, { lease: 60 });
    assert.deepEqual(again.ids, ids);
    parley.clock.advance(24 * DAY_MS);
    const news = await happened(1);
    assert.deepEqual((await take(reader)).ids, news);
  });

  it('holds a waiting read until the next event, or until the lease of one ends', async (t) => {
    const { reader, parley, requester, happened } = await world(t);
    const waiting = take(reader, { wait: 20 });
    const id = await requester.request();
    assert.deepEqual((await waiting).ids, [id]);
    parley.clock.advance(50_000);
    const second = take(reader, { wait: 20 });
    await settled(parley);
    parley.clock.advance(10_000);
    assert.deepEqual((await second).ids, [id]);
    const third = take(reader, { wait: 20 });
    await settled(parley);
    parley.clock.advance(20_000);
    assert.deepEqual((await third).ids, []);
    await happened(0);
  });

  it('limits the open receipts of a consumer, and gives events again after an acknowledgement', async (t) => {
    const { reader, happened } = await world(t);
    await happened(66);
    const taken = [];
    for (let number = 0; number < 64; number++) taken.push(await take(reader, { max: 1 }));
    assert.deepEqual((await take(reader)).ids, []);
    await ack(reader, taken[40]?.receipt);
    assert.equal((await take(reader, { max: 1 })).ids.length, 1);
  });

  it('advances the cursor of a consumer over events of other types', async (t) => {
    const { parley, happened } = await world(t);
    await happened(3);
    assert.deepEqual((await take(parley.admin, {}, 'idle')).ids, []);
    const { consumers } = (await parley.admin.call('GET', '/v1/consumers')).body;
    const cursors = consumers.map(({ name, cursor }: { name: string; cursor?: string }) => [
      name,
      cursor !== undefined,
    ]);
    assert.deepEqual(cursors, [
      ['observer', true],
      ['auditor', true],
      ['idle', true],
    ]);
  });

  it('rejects agents that the declaration of a consumer does not name', async (t) => {
    const { parley, reader, requester } = await world(t);
    for (const [path, body] of [
      ['events', {}],
      ['ack', { receipt: '1.1.1' }],
      ['rewind', { to: 'start' }],
    ] as const) {
      assertRefused(await requester.call('POST', `/v1/consumers/observer/${path}`, body), 404, 'consumer_not_found');
      assertRefused(await reader.call('POST', `/v1/consumers/auditor/${path}`, body), 404, 'consumer_not_found');
      assertRefused(await parley.admin.call('POST', `/v1/consumers/none/${path}`, body), 404, 'consumer_not_found');
    }
    const named = async (by: Caller) =>
      (await by.call('GET', '/v1/consumers')).body.consumers.map(({ name }: { name: string }) => name);
    assert.deepEqual(await named(requester), []);
    assert.deepEqual(await named(reader), ['observer']);
    assert.deepEqual(await named(parley.admin), ['observer', 'auditor', 'idle']);
  });

  it('gives a consumer events of its channels only, and rejects an agent without access to one of them', async (t) => {
    const events = { project: 'default', types: ['evt.agent.*'], agents: ['insider', 'outsider'] };
    const consumers = {
      open: { ...events, channels: ['public'] },
      inner: { ...events, channels: ['public', 'u_owner'] },
    };
    const parley = await testParley(t, { config: { consumers } });
    const insider = await groundAgent(parley, 'insider', { channels: ['public', 'u_owner'] });
    const outsider = await groundAgent(parley, 'outsider');
    const worker = new Worker(insider);
    const turns: string[] = [];
    for (const channel_id of ['u_owner', 'public']) {
      turns.push(await enqueued(parley.admin, 'insider', { channel_id }));
      await worker.deliver(await worker.begin());
    }
    await settled(parley);
    const heard = async (by: Caller, name: string) => {
      const taken = await by.call('POST', `/v1/consumers/${name}/events`, {});
      await parley.admin.call('POST', `/v1/consumers/${name}/rewind`, { to: 'start' });
      type Told = { data: { payload: { agent_turn_id: string } } };
      return [...new Set(taken.body.events.map(({ data }: Told) => data.payload.agent_turn_id))];
    };
    for (const by of [insider, outsider, parley.admin]) assert.deepEqual(await heard(by, 'open'), turns.slice(1));
    for (const by of [insider, parley.admin]) assert.deepEqual(await heard(by, 'inner'), turns);
    for (const [path, body] of [
      ['events', {}],
      ['ack', { receipt: '1.1.1' }],
      ['rewind', { to: 'end' }],
    ] as const) {
      const refused = await outsider.call('POST', `/v1/consumers/inner/${path}`, body);
      assertRefused(refused, 403, 'channel_forbidden');
      assert.match(refused.body.detail, /outsider .*u_owner/);
    }
    assert.deepEqual(await heard(insider, 'inner'), turns, 'nothing was lost by those who may not hear it');
  });

  it('rejects a malformed read of a consumer', async (t) => {
    const { reader } = await world(t);
    for (const wanted of [
      { max: 0 },
      { max: 501 },
      { wait: 26 },
      { wait: -1 },
      { lease: 0 },
      { lease: 1e9 },
      { from: 'x' },
      5,
    ]) {
      assertRefused(await reader.call('POST', '/v1/consumers/observer/events', wanted), 400, 'invalid_request');
    }
  });
});
