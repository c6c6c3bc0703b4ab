import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import { createQueueSource } from '../../relay/egress-source.ts';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, type RelaySite, relaySite } from '../support/relay-site.ts';
import { isLong } from '../support/scale.ts';

const MESSAGES = 50;
/** Long enough that every part has failed and begun to wait. */
const OUTAGE_MS = isLong ? 60_000 : 3000;
/** Of one test, in which there may be two outages, and pauses that have grown as long as they. */
const LONG = { timeout: 120_000 + 4 * OUTAGE_MS };

const publishedUp = async (site: RelaySite, count = MESSAGES): Promise<string[]> => {
  const js = jetstream(site.client);
  const requests = Array.from({ length: count }, () => taskRequest('tim', { payload: { task: 'intel.news' } }));
  for (const request of requests) await js.publish('roundtable.tasks.intel.news', JSON.stringify(request));
  return requests.map(({ id }) => id);
};

const arrivedUp = (site: RelaySite, ids: string[]) =>
  eventually(async () => {
    for (const id of ids) assert.equal((await site.admin.call('GET', `/v1/tasks/${id}`)).status, 200);
  }, 60_000 + OUTAGE_MS);

const requestedDown = async (site: RelaySite): Promise<string[]> => {
  const arthur = await site.agent('arthur', {});
  const ids = [];
  for (let n = 0; n < MESSAGES; n++) ids.push(await arthur.request());
  return ids;
};

const arrivedDown = async (site: RelaySite, ids: string[]): Promise<void> => {
  const knights = { durable_name: 'knights', filter_subject: 'roundtable.tasks.security.>' };
  const tasks = await eventually(() => consumerOf(site.client, 'ROUNDTABLE_TASKS', knights));
  const found = new Set<string>();
  while (found.size < ids.length) {
    const { body } = await nextOf(tasks, 60_000 + OUTAGE_MS);
    assert.ok(!found.has(body.id), 'it came twice');
    found.add(body.id);
  }
  assert.deepEqual([...found].toSorted(), ids.toSorted());
};

describe('nothing is lost', { timeout: 4 * LONG.timeout }, () => {
  it('while NATS is down', LONG, async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay();
    const up = await publishedUp(site);
    await site.nats.kill();
    await eventually(async () => assert.ok(!(await relay.isReady())));
    const down = await requestedDown(site);
    await pause(OUTAGE_MS);
    await site.nats.start();
    await Promise.all([arrivedUp(site, up), arrivedDown(site, down)]);
    assert.ok(await relay.isReady());
  });

  it('while the endpoint is down', LONG, async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay();
    const down = await requestedDown(site);
    await site.close();
    const up = await publishedUp(site);
    await eventually(() => assert.ok(relay.metrics.getCount('ingress', 'retries') > 0));
    assert.ok(!(await relay.isReady()));
    await pause(OUTAGE_MS);
    const { lag, waitingSeconds } = await relay.getGauges();
    assert.equal(lag['parley-default-tasks-intel'], MESSAGES);
    assert.ok((waitingSeconds['parley-default-tasks-intel'] ?? 0) >= OUTAGE_MS / 1000);
    assert.equal(waitingSeconds['parley-default-results'], 0);
    await site.open();
    assert.ok(await relay.isReady());
    await Promise.all([arrivedUp(site, up), arrivedDown(site, down)]);
    assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 0);
  });

  it('while NATS answers no one and the endpoint is slow', LONG, async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    await site.relay();
    const down = await requestedDown(site);
    const up = await publishedUp(site);
    site.slow(500);
    site.nats.freeze();
    await pause(OUTAGE_MS);
    site.nats.thaw();
    await pause(OUTAGE_MS);
    site.slow(0);
    await Promise.all([arrivedUp(site, up), arrivedDown(site, down)]);
  });

  it('while the queues do not answer, and nothing waits any longer once they do', async (t) => {
    const site = await relaySite(t);
    const asked: number[] = [];
    const relay = await site.relay({
      source: (project) => {
        const source = createQueueSource(site.parley.deps.queues, project);
        const receive: typeof source.receive = async (priority, waitMs, signal) => {
          if (priority !== 'normal') return source.receive(priority, waitMs, signal);
          asked.push(Date.now());
          if (asked.length <= 3) throw new Error('SQS is away');
          return asked.length === 4 ? [] : source.receive(priority, waitMs, signal);
        };
        return { ...source, receive };
      },
    });
    await eventually(async () => assert.ok(!(await relay.isReady())));
    await eventually(() => assert.equal(asked.length, 5), 20_000);
    const [, , , empty = 0, next = Infinity] = asked;
    assert.ok(next - empty < 1000, `it waited ${next - empty} ms for nothing`);
    assert.ok(await relay.isReady());
  });

  it('when one of two relays stops in the middle', LONG, async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const [one] = [await site.relay(), await site.relay()];
    const [up, down] = await Promise.all([
      publishedUp(site, 4 * MESSAGES),
      requestedDown(site),
      pause(100).then(() => one?.stop()),
    ]);
    await Promise.all([arrivedUp(site, up), arrivedDown(site, down)]);
  });
});

describe('a message that the relay brought', () => {
  it('is not sent up again, whatever it is and wherever it is read', async (t) => {
    const site = await relaySite(t);
    const galahad = await site.agent('galahad', { capabilities: ['intel.news'] });
    await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay();
    const [id = ''] = await publishedUp(site, 1);
    await galahad.claim({ wait: 10 });
    await galahad.progress(id);
    await galahad.complete(id);
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'tims' });
    await nextOf(results);
    // Claim, progress and result stand in streams that the relay itself reads.
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'skipped'), 3));
    assert.equal(relay.metrics.getCount('ingress', 'messages'), 1);
    assert.equal(relay.metrics.getCount('ingress', 'rejected'), 0);
    assert.equal(relay.metrics.getCount('egress', 'messages'), 3);
  });

  it('changes nothing even where its mark is lost on the way', async (t) => {
    const site = await relaySite(t);
    const galahad = await site.agent('galahad', { capabilities: ['intel.news'] });
    await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay();
    const [id = ''] = await publishedUp(site, 1);
    await galahad.claim({ wait: 10 });
    await galahad.complete(id);
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'tims' });
    const { subject, body } = await nextOf(results);
    const before = await site.admin.call('GET', `/v1/tasks/${id}`);
    // Galahad is no agent of the relay, so that nobody on NATS can speak for it.
    await jetstream(site.client).publish(subject, JSON.stringify(body));
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    assert.deepEqual((await site.admin.call('GET', `/v1/tasks/${id}`)).body, before.body);
    assert.equal(relay.metrics.getCount('egress', 'messages'), 2);
  });
});
