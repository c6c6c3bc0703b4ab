import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import type { Caller, Reply, TestAgent } from '../support/api.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const DAY_MS = 86_400_000;

const PUBLIC_ONLY = { project: 'default', channels: ['public'] };
const CONSUMERS = {
  observer: { ...PUBLIC_ONLY, types: ['task.requested'], agents: ['lancelot', 'kay'] },
  auditor: { ...PUBLIC_ONLY, types: ['task.*'], agents: ['kay'] },
  elsewhere: { ...PUBLIC_ONLY, project: 'other', types: ['*'], agents: ['lancelot'] },
  idle: { ...PUBLIC_ONLY, types: ['never.happens'], agents: [] },
};

interface World {
  parley: TestParley;
  lancelot: TestAgent;
  tim: TestAgent;
  /** Makes so many requests, and gives their ids in order. */
  happened(count: number): Promise<string[]>;
}

const world = async (t: TestContext): Promise<World> => {
  const parley = await testParley(t, { config: { consumers: CONSUMERS } });
  const [lancelot, tim] = [await parley.agent('lancelot'), await parley.agent('tim')];
  await settled(parley);
  await parley.admin.call('POST', '/v1/consumers/observer/rewind', { to: 'end' });
  await parley.admin.call('POST', '/v1/consumers/auditor/rewind', { to: 'end' });
  return {
    parley,
    lancelot,
    tim,
    happened: async (count) => {
      const ids: string[] = [];
      for (let number = 0; number < count; number++) ids.push(await tim.request({ ttl: 604_800 }));
      await settled(parley);
      return ids;
    },
  };
};

const take = async (by: Caller, wanted: object = {}, name = 'observer') => {
  const { status, body } = await by.call('POST', `/v1/consumers/${name}/events`, wanted);
  assert.equal(status, 200, JSON.stringify(body));
  const events: { type: string; data: { taskId: string; from: string } }[] = body.events;
  const ids = events.filter(({ data }) => data.from === 'tim').map(({ data }) => data.taskId);
  return { ids, events, receipt: body.receipt, until: body.until };
};

const ack = (by: Caller, receipt: string, name = 'observer'): Promise<Reply> =>
  by.call('POST', `/v1/consumers/${name}/ack`, { receipt });

describe('a durable consumer', () => {
  it('is given each event of its types once, in order, as it acknowledges them', async (t) => {
    const { lancelot, happened } = await world(t);
    const ids = await happened(5);
    const first = await take(lancelot, { max: 2 });
    assert.deepEqual(first.ids, ids.slice(0, 2));
    assert.deepEqual(await ack(lancelot, first.receipt).then(({ status, body }) => [status, body]), [
      200,
      { duplicate: false },
    ]);
    const rest = await take(lancelot);
    assert.deepEqual(rest.ids, ids.slice(2));
    await ack(lancelot, rest.receipt);
    assert.deepEqual(await take(lancelot), { ids: [], events: [], receipt: undefined, until: undefined });
  });

  it('begins with the oldest event that there is', async (t) => {
    const parley = await testParley(t, { config: { consumers: CONSUMERS } });
    const tim = await parley.agent('tim');
    const id = await tim.request();
    await settled(parley);
    assert.equal((await take(parley.admin)).ids[0], id);
  });

  it('gives an event to one of its instances, whichever asks', async (t) => {
    const { lancelot, parley, happened } = await world(t);
    const kay = await parley.agent('kay');
    const ids = await happened(12);
    const taken = await Promise.all(Array.from({ length: 6 }, (_, n) => take(n % 2 ? kay : lancelot, { max: 2 })));
    assert.deepEqual(taken.flatMap((one) => one.ids).toSorted(), ids.toSorted());
    for (const { receipt } of taken.toReversed()) assert.equal((await ack(kay, receipt)).status, 200);
    assert.deepEqual((await take(kay)).ids, []);
  });

  it('gives what was not acknowledged in time to another instance, and believes only that one', async (t) => {
    const { lancelot, parley, happened } = await world(t);
    const kay = await parley.agent('kay');
    const ids = await happened(4);
    const lost = await take(lancelot, { max: 2, lease: 30 });
    const slow = await take(lancelot, { max: 1, lease: 300 });
    parley.clock.advance(29_000);
    assert.deepEqual((await take(kay, { max: 1 })).ids, ids.slice(3));
    parley.clock.advance(1000);
    const again = await take(kay, { lease: 30 });
    assert.deepEqual(again.ids, ids.slice(0, 2));
    assertRefused(await ack(lancelot, lost.receipt), 409, 'stale_receipt');
    assert.equal((await ack(kay, again.receipt)).status, 200);
    assert.equal((await ack(lancelot, slow.receipt)).status, 200);
  });

  it('takes a late acknowledgement, as long as nobody else has the events', async (t) => {
    const { lancelot, parley, happened } = await world(t);
    await happened(1);
    const { receipt } = await take(lancelot, { lease: 30 });
    parley.clock.advance(60_000);
    assert.equal((await ack(lancelot, receipt)).status, 200);
    assert.deepEqual((await take(lancelot)).ids, []);
  });

  it('takes an acknowledgement again without effect, and none that it gave no receipt for', async (t) => {
    const { lancelot, happened } = await world(t);
    await happened(2);
    const { receipt } = await take(lancelot, { max: 1 });
    await ack(lancelot, receipt);
    assert.deepEqual((await ack(lancelot, receipt)).body, { duplicate: true });
    const [generation] = receipt.split('.');
    for (const other of [`${generation}.99.1`, `${Number(generation) + 1}.1.1`, '0.0.0']) {
      assertRefused(await ack(lancelot, other), 409, 'stale_receipt');
    }
    assertRefused(await ack(lancelot, 'x'), 400, 'invalid_request');
    assert.equal((await take(lancelot)).ids.length, 1);
  });

  it('goes on where it was after a restart', async (t) => {
    const { lancelot, parley, happened } = await world(t);
    const ids = await happened(3);
    await ack(lancelot, (await take(lancelot, { max: 1 })).receipt);
    const inHand = await take(lancelot, { max: 1, lease: 60 });
    await parley.restart();
    assert.deepEqual((await take(lancelot)).ids, ids.slice(2));
    assert.equal((await ack(lancelot, inHand.receipt)).status, 200);
  });

  it('does not disturb another by what it takes, or by where it is rewound to', async (t) => {
    const { parley, happened } = await world(t);
    const kay = await parley.agent('kay');
    const ids = await happened(3);
    const mine = await take(kay);
    await ack(kay, mine.receipt);
    const audited = await take(kay, { max: 3 }, 'auditor');
    assert.deepEqual(audited.ids, ids);
    assert.equal((await kay.call('POST', '/v1/consumers/observer/rewind', { to: 'start' })).status, 204);
    assert.deepEqual((await take(kay)).ids.slice(-3), ids);
    assert.equal((await ack(kay, audited.receipt, 'auditor')).status, 200);
    assert.ok((await take(kay, {}, 'auditor')).events.every(({ type }) => type !== 'task.requested'));
  });

  it('reads again from a time, and from nowhere but there', async (t) => {
    const { lancelot, parley, happened } = await world(t);
    await happened(2);
    parley.clock.advance(3 * DAY_MS);
    const then = new Date(parley.clock.now()).toISOString();
    const later = await happened(2);
    parley.clock.advance(3 * DAY_MS);
    const latest = await happened(2);
    const before = await take(lancelot);
    assert.equal((await lancelot.call('POST', '/v1/consumers/observer/rewind', { to: then })).status, 204);
    assertRefused(await ack(lancelot, before.receipt), 409, 'stale_receipt');
    assert.deepEqual((await take(lancelot)).ids, [...later, ...latest]);
    await lancelot.call('POST', '/v1/consumers/observer/rewind', { to: 'end' });
    assert.deepEqual((await take(lancelot)).ids, []);
    for (const to of ['yesterday', '2026-03-01', 5, undefined]) {
      assertRefused(await lancelot.call('POST', '/v1/consumers/observer/rewind', { to }), 400, 'invalid_request');
    }
  });

  it('finds after a week what it missed, and goes on behind what the log has forgotten', async (t) => {
    const { lancelot, parley, happened } = await world(t);
    const ids = await happened(1);
    const inHand = await take(lancelot, { lease: 60 });
    assert.deepEqual(inHand.ids, ids);
    parley.clock.advance(7 * DAY_MS);
    const again = await take(lancelot, { lease: 60 });
    assert.deepEqual(again.ids, ids);
    parley.clock.advance(24 * DAY_MS);
    const news = await happened(1);
    assert.deepEqual((await take(lancelot)).ids, news);
  });

  it('waits for the next event, and for one that another instance lets go', async (t) => {
    const { lancelot, parley, tim, happened } = await world(t);
    const waiting = take(lancelot, { wait: 20 });
    const id = await tim.request();
    assert.deepEqual((await waiting).ids, [id]);
    parley.clock.advance(50_000);
    const second = take(lancelot, { wait: 20 });
    await settled(parley);
    parley.clock.advance(10_000);
    assert.deepEqual((await second).ids, [id]);
    const third = take(lancelot, { wait: 20 });
    await settled(parley);
    parley.clock.advance(20_000);
    assert.deepEqual((await third).ids, []);
    await happened(0);
  });

  it('gives out a bounded number of receipts, and goes on when one comes back', async (t) => {
    const { lancelot, happened } = await world(t);
    await happened(66);
    const taken = [];
    for (let number = 0; number < 64; number++) taken.push(await take(lancelot, { max: 1 }));
    assert.deepEqual((await take(lancelot)).ids, []);
    await ack(lancelot, taken[40]?.receipt);
    assert.equal((await take(lancelot, { max: 1 })).ids.length, 1);
  });

  it('passes over events that are not its own, without end and without loss', async (t) => {
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

  it('is open to administrators and to the agents that its declaration names', async (t) => {
    const { parley, lancelot, tim } = await world(t);
    for (const [path, body] of [
      ['events', {}],
      ['ack', { receipt: '1.1.1' }],
      ['rewind', { to: 'start' }],
    ] as const) {
      assertRefused(await tim.call('POST', `/v1/consumers/observer/${path}`, body), 404, 'consumer_not_found');
      assertRefused(await lancelot.call('POST', `/v1/consumers/auditor/${path}`, body), 404, 'consumer_not_found');
      assertRefused(await parley.admin.call('POST', `/v1/consumers/none/${path}`, body), 404, 'consumer_not_found');
    }
    const named = async (by: Caller) =>
      (await by.call('GET', '/v1/consumers')).body.consumers.map(({ name }: { name: string }) => name);
    assert.deepEqual(await named(tim), []);
    assert.deepEqual(await named(lancelot), ['observer']);
    assert.deepEqual(await named(parley.admin), ['observer', 'auditor', 'idle']);
  });

  it('hears what is said on its own channels, whichever of its instances asks', async (t) => {
    const events = { project: 'default', types: ['evt.agent.*'], agents: ['merlin', 'morgan'] };
    const consumers = {
      open: { ...events, channels: ['public'] },
      inner: { ...events, channels: ['public', 'u_arthur'] },
    };
    const parley = await testParley(t, { config: { consumers } });
    const merlin = await groundAgent(parley, 'merlin', { channels: ['public', 'u_arthur'] });
    const morgan = await groundAgent(parley, 'morgan');
    const worker = new Worker(merlin);
    const turns: string[] = [];
    for (const channel_id of ['u_arthur', 'public']) {
      turns.push(await enqueued(parley.admin, 'merlin', { channel_id }));
      await worker.deliver(await worker.begin());
    }
    await settled(parley);
    const heard = async (by: Caller, name: string) => {
      const taken = await by.call('POST', `/v1/consumers/${name}/events`, {});
      await parley.admin.call('POST', `/v1/consumers/${name}/rewind`, { to: 'start' });
      type Told = { data: { payload: { agent_turn_id: string } } };
      return [...new Set(taken.body.events.map(({ data }: Told) => data.payload.agent_turn_id))];
    };
    for (const by of [merlin, morgan, parley.admin]) assert.deepEqual(await heard(by, 'open'), turns.slice(1));
    for (const by of [merlin, parley.admin]) assert.deepEqual(await heard(by, 'inner'), turns);
    for (const [path, body] of [
      ['events', {}],
      ['ack', { receipt: '1.1.1' }],
      ['rewind', { to: 'end' }],
    ] as const) {
      const refused = await morgan.call('POST', `/v1/consumers/inner/${path}`, body);
      assertRefused(refused, 403, 'channel_forbidden');
      assert.match(refused.body.detail, /morgan .*u_arthur/);
    }
    assert.deepEqual(await heard(merlin, 'inner'), turns, 'nothing was lost by those who may not hear it');
  });

  it('is refused what it may not want', async (t) => {
    const { lancelot } = await world(t);
    for (const wanted of [
      { max: 0 },
      { max: 501 },
      { wait: 21 },
      { wait: -1 },
      { lease: 0 },
      { lease: 1e9 },
      { from: 'x' },
      5,
    ]) {
      assertRefused(await lancelot.call('POST', '/v1/consumers/observer/events', wanted), 400, 'invalid_request');
    }
  });
});
