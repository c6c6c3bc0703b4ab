import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { assertRefused } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { testParley } from '../support/test-parley.ts';
import { ROUND_TABLE } from './document-messages.ts';

const { request, claimed, progress, result, failed, heartbeat } = ROUND_TABLE;

describe('examples of the Round Table document', () => {
  for (const [how, profile] of [
    ['as they stand', undefined],
    ['as they stand in the profile of knights', 'knight'],
  ] as const) {
    it(`are accepted over HTTP ${how}, and reach their readers unchanged`, async (t) => {
      const { agent } = await testParley(t);
      const tim = await agent('tim', { profile });
      const galahad = await agent('galahad', { profile, capabilities: heartbeat.payload.capabilities });
      assert.equal((await tim.send(request)).status, 202);
      const [task] = await galahad.claim();
      assert.deepEqual({ ...task.message, ...request }, task.message);
      for (const message of [claimed, progress, heartbeat, result])
        assert.equal((await galahad.send(message)).status, 202, message.type);
      const [outcome] = await tim.inbox(20);
      assert.deepEqual({ ...outcome, ...result }, outcome);
      // The document has it after the result of the same task.
      assertRefused(await galahad.send(failed), 409, 'task_ended');
    });
  }

  it('are accepted on NATS on the topics that the document gives them', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: heartbeat.payload.capabilities });
    const relay = await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
      durable_name: 'galahad',
      filter_subject: 'roundtable.tasks.security.>',
    });
    assert.equal((await tim.send(request)).status, 202);
    const { subject, body } = await nextOf(tasks);
    assert.equal(subject, 'roundtable.tasks.security.briefing');
    assert.deepEqual(body, request);
    const say = (topic: string, message: object) => jetstream(site.client).publish(topic, JSON.stringify(message));
    const inState = (state: string) => eventually(async () => assert.equal((await tim.task(request.id)).state, state));
    await say('roundtable.events.task.claimed', claimed);
    await inState('claimed');
    await say('roundtable.events.task.progress', progress);
    await inState('in_progress');
    await say('roundtable.heartbeat.galahad', heartbeat);
    await say('roundtable.results.security.550e8400', result);
    await inState('completed');
    assert.deepEqual((await tim.task(request.id)).result, result.payload.result);
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'messages'), 4));
    assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 0);
  });

  it('are tried again where one of them fails first', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    await tim.send(request);
    await galahad.claim();
    assert.equal((await galahad.send(failed)).status, 202);
    assert.deepEqual(await galahad.claim(), []);
    clock.advance(60_000);
    await eventually(async () => assert.equal((await galahad.claim())[0]?.attempt, 2));
    assert.equal((await galahad.send(result)).status, 202);
  });
});
