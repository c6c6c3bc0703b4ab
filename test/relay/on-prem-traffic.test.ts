import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';

const heartbeat = (from: string) => ({ ...taskRequest(from), type: 'heartbeat', payload: { status: 'healthy' } });

describe('traffic among agents on NATS', () => {
  for (const [whom, isRegistered] of [
    ['registered', true],
    ['unknown to Parley', false],
  ] as const) {
    it(`is no dead letter and is not retried where its agents are ${whom}`, async (t) => {
      const site = await relaySite(t);
      if (isRegistered) {
        await site.agent('tim', { transport: 'nats' });
        await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
      }
      const relay = await site.relay();
      const js = jetstream(site.client);
      const say = (subject: string, message: object) => js.publish(subject, JSON.stringify(message));
      const knights = { durable_name: 'knights', filter_subject: 'roundtable.tasks.security.>' };
      const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', knights);

      await say('roundtable.tasks.security.briefing', taskRequest('tim'));
      const { id } = (await nextOf(tasks)).body;
      await say('roundtable.events.task.claimed', about('task.claimed', 'galahad', id, {}));
      await say('roundtable.events.task.progress', about('task.progress', 'galahad', id, { percent: 50 }));
      const result = { status: 'completed', result: { content: 'All quiet.' } };
      await say(`roundtable.results.security.${id.slice(0, 8)}`, about('task.result', 'galahad', id, result));
      await say('roundtable.results.finance.t-17', { task_id: 't-17', success: true, result: 'in words of their own' });
      await say('roundtable.heartbeat.galahad', heartbeat('galahad'));

      await eventually(() => {
        const { metrics } = relay;
        const settled = ['messages', 'skipped', 'dead_letters', 'rejected', 'retries'] as const;
        const counts = settled.map((name) => metrics.getCount('ingress', name));
        assert.deepEqual(counts, isRegistered ? [1, 4, 0, 0, 0] : [0, 5, 0, 0, 0]);
      });
    });
  }

  it('is retried where it is about a domain that Parley serves', async (t) => {
    const site = await relaySite(t);
    await site.agent('galahad', { transport: 'nats', capabilities: ['intel.news'] });
    const relay = await site.relay();
    const id = randomUUID();
    const result = about('task.result', 'galahad', id, { status: 'completed', result: {} });
    await jetstream(site.client).publish(`roundtable.results.intel.${id}`, JSON.stringify(result));
    await eventually(() => assert.ok(relay.metrics.getCount('ingress', 'retries') > 0));
    assert.equal(relay.metrics.getCount('ingress', 'skipped'), 0);
  });

  it('is a dead letter where an unknown agent reports on a task of Parley', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    const relay = await site.relay();
    const id = await tim.request();
    const claim = about('task.claimed', 'stranger', id, {});
    await jetstream(site.client).publish('roundtable.events.task.claimed', JSON.stringify(claim));
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    assert.equal((await tim.task(id)).state, 'requested');
  });
});
