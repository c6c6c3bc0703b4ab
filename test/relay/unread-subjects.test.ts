import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';

const SUBJECT = 'roundtable.tasks.finance.tax';
const request = (more: object = {}) => taskRequest('tim', { payload: { task: 'finance.tax' }, ...more });

const waitingOn = async (client: NatsConnection, subject: string): Promise<number> => {
  const jsm = await jetstreamManager(client);
  const { state } = await jsm.streams.info('ROUNDTABLE_TASKS', { subjects_filter: subject });
  return state.subjects?.[subject] ?? 0;
};

describe('a task on NATS in a domain that Parley does not know', () => {
  it('is answered and kept as a dead letter where nobody reads its subject', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    await site.relay({ unreadIntervalMs: 50 });
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'tims-results' });
    const dead = await consumerOf(site.client, 'PARLEY_DEAD_LETTERS', { durable_name: 'looks-after' });
    const asked = request();
    await jetstream(site.client).publish(SUBJECT, JSON.stringify(asked));
    const { subject, body } = await nextOf(results);
    assert.equal(subject, `roundtable.results.finance.${asked.id}`);
    const { type, from, to, correlationId, payload } = body;
    assert.deepEqual([type, from, to, correlationId], ['task.failed', 'parley', 'tim', asked.id]);
    assert.deepEqual(
      [payload.error, payload.retryable, payload.parley.code],
      ['skill_missing', false, 'unknown_domain'],
    );
    const { message } = await nextOf(dead);
    assert.equal(JSON.parse(message.headers?.get('Parley-Problem') ?? '{}').code, 'unknown_domain');
    await eventually(async () => assert.equal(await waitingOn(site.client, SUBJECT), 0));
  });

  it('is taken where it is for one agent', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const galahad = await site.agent('galahad', {});
    await site.relay({ unreadIntervalMs: 50 });
    const asked = request({ to: 'galahad' });
    await jetstream(site.client).publish(SUBJECT, JSON.stringify(asked));
    const [claimed] = await galahad.claim({ wait: 10 });
    assert.equal(claimed.message.id, asked.id);
    await eventually(async () => assert.equal(await waitingOn(site.client, SUBJECT), 0));
  });

  it('is left to whoever reads its subject, and so is one in a domain that NATS serves', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay({ unreadIntervalMs: 50 });
    const knights = { durable_name: 'percival', filter_subject: 'roundtable.tasks.finance.>' };
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', knights);
    const js = jetstream(site.client);
    const onPrem = taskRequest('tim');
    await js.publish('roundtable.tasks.security.briefing', JSON.stringify(onPrem));
    const asked = request();
    await js.publish(SUBJECT, JSON.stringify(asked));
    // One that nobody reads shows that the relay has looked since.
    await js.publish('roundtable.tasks.alchemy.gold', 'no JSON');
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    assert.equal(await waitingOn(site.client, 'roundtable.tasks.security.briefing'), 1);
    assert.equal((await site.admin.call('GET', `/v1/tasks/${onPrem.id}`)).status, 404);
    assert.equal((await nextOf(tasks)).body.id, asked.id);
  });

  it('waits where Parley does not answer, and is brought once it does', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    const galahad = await site.agent('galahad', {});
    await site.relay({ unreadIntervalMs: 50 });
    await site.close();
    const asked = request({ to: 'galahad' });
    await jetstream(site.client).publish(SUBJECT, JSON.stringify(asked));
    await eventually(() => assert.match(site.logged.join('\n'), /look for unread subjects failed/));
    assert.equal(await waitingOn(site.client, SUBJECT), 1);
    await site.open();
    const [claimed] = await galahad.claim({ wait: 10 });
    assert.equal(claimed.message.id, asked.id);
  });
});

describe('a task on NATS that Parley refuses', () => {
  it('is answered as failed, unless it bears the id of a task that is there', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', { transport: 'nats' });
    const relay = await site.relay();
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'tims-results' });
    const id = await tim.request({ payload: { task: 'intel.news' } });
    const js = jetstream(site.client);
    const wrong = (more: object) =>
      js.publish('roundtable.tasks.intel.news', JSON.stringify(request({ ttl: 0, ...more })));
    await wrong({ id });
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    const asked = request();
    await wrong({ id: asked.id });
    const { body } = await nextOf(results);
    assert.equal(body.correlationId, asked.id);
    assert.equal(body.payload.error, 'invalid_params');
    assert.equal((await tim.task(id)).state, 'requested');
  });
});
