import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { taskRef } from '../../shared/model/task.ts';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { TestClock } from '../support/test-clock.ts';

const KNIGHTS = { durable_name: 'knights', filter_subject: 'roundtable.tasks.security.>' };

describe('on NATS', () => {
  it('the second attempt has an id of its own, by which it is reported on', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', KNIGHTS);
    const js = jetstream(site.client);
    const id = await tim.request();
    const first = await nextOf(tasks);
    assert.equal(first.body.id, id);
    const failure = about('task.failed', 'galahad', id, { error: 'model_error', message: 'again please' });
    await js.publish(`roundtable.results.security.${id}`, JSON.stringify(failure));
    const second = await nextOf(tasks);
    assert.notEqual(second.body.id, id);
    assert.match(second.body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const result = { status: 'completed', result: { content: 'now' } };
    const done = about('task.result', 'galahad', second.body.id, result);
    await js.publish(`roundtable.results.security.${second.body.id}`, JSON.stringify(done));
    const ended = await tim.task(id, 10);
    assert.equal(ended.state, 'completed');
    assert.equal(ended.attempt, 2);
  });

  it('a knight that works for 20 minutes and says nothing but heartbeats finishes its task, once', async (t) => {
    const clock = new TestClock();
    const site = await relaySite(t, { clock });
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', KNIGHTS);
    const js = jetstream(site.client);
    const id = await tim.request();
    await nextOf(tasks);
    const claimed = about('task.claimed', 'galahad', id, {});
    await js.publish('roundtable.events.task.claimed', JSON.stringify(claimed));
    await eventually(async () => assert.equal((await tim.task(id)).state, 'claimed'));
    for (let minute = 0; minute < 20; minute++) {
      const timestamp = new Date(clock.now()).toISOString();
      const payload = { status: 'busy', capabilities: [], activeTaskCount: 1 };
      const beat = { ...about('heartbeat', 'galahad', id, payload), correlationId: undefined, timestamp };
      await js.publish('roundtable.heartbeat.galahad', JSON.stringify(beat));
      await eventually(async () => {
        const { health } = (await site.admin.call('GET', '/v1/agents/galahad')).body;
        assert.equal(health.lastSeen, timestamp);
      });
      clock.advance(60_000);
    }
    const done = about('task.result', 'galahad', id, { status: 'completed', result: { content: 'late' } });
    await js.publish(`roundtable.results.security.${id}`, JSON.stringify(done));
    const { state, attempt, history } = await tim.task(id, 10);
    assert.deepEqual([state, attempt], ['completed', 1]);
    assert.equal(history.filter(({ event }: { event: string }) => event === 'claimed').length, 1);
    const { state: published } = await (await jetstreamManager(site.client)).streams.info('ROUNDTABLE_TASKS');
    assert.equal(published.last_seq, 1);
  });

  it('a knight that lacks the skill hands the task on, and cannot take it again', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    for (const id of ['galahad', 'bors'])
      await site.agent(id, { transport: 'nats', capabilities: ['security.briefing'] });
    await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', KNIGHTS);
    const js = jetstream(site.client);
    const id = await tim.request();
    await nextOf(tasks);
    const say = (type: string, from: string, taskId: string, payload: object) =>
      js.publish(`roundtable.results.security.${taskId}`, JSON.stringify(about(type, from, taskId, payload)));
    await say('task.failed', 'galahad', id, { error: 'skill_missing', message: 'not mine' });
    const second = await nextOf(tasks);
    await say('task.claimed', 'galahad', second.body.id, {});
    await say('task.result', 'bors', second.body.id, { status: 'completed', result: { content: 'here' } });
    const ended = await tim.task(id, 10);
    assert.equal(ended.state, 'completed');
    assert.equal((await site.parley.deps.records.get(taskRef('default', id)))?.holder, 'bors');
  });

  it('what is cancelled before the relay comes to it is not published, and what follows is', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    const [gone, wanted] = [await tim.request(), await tim.request()];
    await tim.call('POST', `/v1/tasks/${gone}/cancel`);
    const relay = await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', KNIGHTS);
    assert.equal((await nextOf(tasks)).body.id, wanted);
    await eventually(() => {
      assert.equal(relay.metrics.getCount('egress', 'skipped'), 1);
      assert.equal(relay.metrics.getCount('egress', 'messages'), 1);
    });
  });

  it('the holder is told that its task was cancelled, and the requester that it failed', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    await site.agent('arthur', { transport: 'nats' });
    const lancelot = await site.agent('lancelot', { capabilities: ['intel.news'] });
    await site.relay();
    const js = jetstream(site.client);
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', {
      durable_name: 'results',
      deliver_policy: 'new',
    });
    const id = await tim.request();
    const claim = about('task.claimed', 'galahad', id, {});
    await js.publish('roundtable.events.task.claimed', JSON.stringify(claim));
    await eventually(async () => assert.equal((await tim.task(id)).state, 'claimed'));
    await tim.call('POST', `/v1/tasks/${id}/cancel`);
    const cancelled = await nextOf(results);
    assert.equal(cancelled.subject, `roundtable.results.security.${id}`);
    assert.deepEqual([cancelled.body.type, cancelled.body.to], ['task.failed', 'galahad']);
    assert.equal(cancelled.body.payload.error, 'cancelled');

    const request = taskRequest('arthur', { payload: { task: 'intel.news' } });
    await js.publish('roundtable.tasks.intel.news', JSON.stringify(request));
    await lancelot.claim({ wait: 10 });
    await lancelot.fail(request.id, { error: 'skill_missing', message: 'not me' });
    const failed = await nextOf(results);
    assert.deepEqual([failed.body.type, failed.body.to], ['task.failed', 'arthur']);
    assert.equal(failed.body.payload.error, 'skill_missing');
  });
});
