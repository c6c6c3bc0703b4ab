import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createQueueSource } from '../../relay/egress-source.ts';
import { createParleyApi } from '../../relay/parley-api.ts';
import { about } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type Fate, faultyProxy } from '../support/faulty-proxy.ts';
import { relaySite } from '../support/relay-site.ts';

describe('a relay that carries nothing is ready', () => {
  it('not once Parley does not answer any more', async (t) => {
    const site = await relaySite(t);
    let fate: Fate = 'pass';
    const proxy = await faultyProxy(site.address, () => fate);
    t.after(proxy.close);
    const relay = await site.relay({ api: createParleyApi(proxy.endpoint, () => site.key) });
    await eventually(async () => assert.ok(await relay.isReady()));
    for (fate of ['never answer', 'lose the answer', { status: 503, error: 'Unavailable' }] satisfies Fate[]) {
      await eventually(async () => assert.ok(!(await relay.isReady()), JSON.stringify(fate)));
    }
    fate = 'pass';
    await eventually(async () => assert.ok(await relay.isReady()));
  });

  it('not once NATS does not answer any more', async (t) => {
    const site = await relaySite(t);
    const relay = await site.relay();
    await eventually(async () => assert.ok(await relay.isReady()));
    site.nats.freeze();
    await eventually(async () => assert.ok(!(await relay.isReady())));
    site.nats.thaw();
    await eventually(async () => assert.ok(await relay.isReady()));
  });

  it('not before its queues have answered', async (t) => {
    const site = await relaySite(t);
    const answered = Promise.withResolvers<void>();
    const relay = await site.relay({
      source: (project) => {
        const source = createQueueSource(site.parley.deps.queues, project);
        const receive: typeof source.receive = async (priority, waitMs, signal) => {
          if (priority === 'normal') await answered.promise;
          return source.receive(priority, waitMs, signal);
        };
        return { ...source, receive };
      },
    });
    // Long enough for all else to be there.
    await eventually(() => assert.match(site.logged.join('\n'), /relay running/));
    await jetstream(site.client).publish('roundtable.heartbeat.nobody', '{}');
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    assert.ok(!(await relay.isReady()));
    answered.resolve();
    await eventually(async () => assert.ok(await relay.isReady()));
  });
});

describe('streams that are lost', () => {
  it('with the memory of a server that was restarted are made again, and heartbeats arrive', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay();
    await site.nats.kill();
    await site.nats.start();
    await eventually(async () => assert.ok(await relay.isReady()));
    const jsm = await jetstreamManager(site.client);
    assert.equal((await jsm.streams.info('ROUNDTABLE_HEARTBEAT')).config.storage, 'memory');
    const status = { status: 'healthy', uptime: 1, activeTaskCount: 0, capabilities: [], model: 'm' };
    const beat = { ...about('heartbeat', 'tim', randomUUID(), status), correlationId: undefined };
    await jetstream(site.client).publish('roundtable.heartbeat.tim', JSON.stringify(beat));
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'messages'), 1));
  });

  it('because somebody deleted them are made again', async (t) => {
    const site = await relaySite(t);
    const relay = await site.relay();
    await eventually(async () => assert.ok(await relay.isReady()));
    const jsm = await jetstreamManager(site.client);
    await jsm.streams.delete('PARLEY_default');
    await eventually(() => jsm.consumers.info('PARLEY_default', 'parley-default-send'), 20_000);
    await eventually(async () => assert.ok(await relay.isReady()));
  });
});
