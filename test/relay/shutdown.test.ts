import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type Fate, faultyProxy } from '../support/faulty-proxy.ts';
import { heldWire } from '../support/held-wire.ts';
import { relayQueues, startRelayProcess } from '../support/relay-process.ts';
import { type RelaySite, relaySite } from '../support/relay-site.ts';

const published = async ({ client }: RelaySite, count: number): Promise<string[]> => {
  const requests = Array.from({ length: count }, () => taskRequest('tim', { payload: { task: 'intel.news' } }));
  for (const request of requests)
    await jetstream(client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
  return requests.map(({ id }) => id);
};

/** How many a relay has taken and not settled, and how many wait for one. */
const unsettled = async ({ client }: RelaySite): Promise<[taken: number, waiting: number]> => {
  const jsm = await jetstreamManager(client);
  const info = await jsm.consumers.info('ROUNDTABLE_TASKS', 'parley-default-tasks-intel');
  return [info.num_ack_pending, info.num_pending];
};

describe('what a relay has not settled when it stops is the next one’s at once', () => {
  it('where it was still on its way from NATS', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const wire = await heldWire(t, site.nats.port);
    const relay = await site.relay({ nats: { servers: `nats://127.0.0.1:${wire.port}` } });
    await eventually(async () => assert.ok(await relay.isReady()));
    wire.hold();
    const ids = await published(site, 10);
    await eventually(async () => assert.deepEqual(await unsettled(site), [10, 0]));
    const stopped = relay.stop();
    await eventually(() => assert.match(wire.said(), /UNSUB/));
    wire.release();
    await stopped;
    await site.relay();
    await eventually(async () => {
      for (const id of ids) assert.equal((await site.admin.call('GET', `/v1/tasks/${id}`)).status, 200);
    });
    assert.deepEqual(await unsettled(site), [0, 0]);
  });

  it('where Parley does not answer, and the relay is not ready and ends within 20 s', async (t) => {
    const queues = await relayQueues(t);
    const site = await relaySite(t, { through: queues.through });
    await site.agent('tim', { transport: 'nats' });
    const fateOf = (operation: string): Fate => (operation === 'POST /v1/messages' ? 'never answer' : 'pass');
    const proxy = await faultyProxy(site.address, fateOf);
    t.after(proxy.close);
    const relay = startRelayProcess(t, {
      ...queues.env,
      PARLEY_URL: proxy.endpoint,
      PARLEY_RELAY_KEY: site.key,
      NATS_SERVERS: site.nats.url,
    });
    await relay.ready();
    await published(site, 300);
    await eventually(async () => assert.deepEqual(await unsettled(site), [300, 0]));
    await eventually(async () => assert.equal((await relay.ask('/readyz')).status, 503));
    const begun = Date.now();
    assert.deepEqual(await relay.kill('SIGTERM'), { code: 0, signal: null });
    assert.ok(Date.now() - begun < 20_000, `it took ${Date.now() - begun} ms`);
    await site.relay();
    await eventually(async () => assert.deepEqual(await unsettled(site), [0, 0]));
  });
});
