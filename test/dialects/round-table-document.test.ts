import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { assertRefused } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { testParley } from '../support/test-parley.ts';

const TASK_ID = '550e8400-e29b-41d4-a716-446655440000';

/** As the document has them, but for nothing. */
const request = {
  id: TASK_ID,
  version: '1.0',
  type: 'task.request',
  from: 'tim',
  to: 'galahad',
  timestamp: '2026-02-08T15:00:00Z',
  priority: 'normal',
  ttl: 3600,
  payload: {
    task: 'security.briefing',
    params: { scope: 'daily', focus: ['cve', 'threat-intel', 'incidents'], since: '2026-02-07T00:00:00Z' },
    responseFormat: 'markdown',
    maxTokens: 4000,
  },
};
const claimed = {
  id: '660e8400-e29b-41d4-a716-446655440001',
  version: '1.0',
  type: 'task.claimed',
  from: 'galahad',
  timestamp: '2026-02-08T15:00:01Z',
  correlationId: TASK_ID,
  payload: { estimatedDurationSeconds: 120, message: 'Acknowledged. Scanning threat feeds...' },
};
const progress = {
  id: '770e8400-e29b-41d4-a716-446655440002',
  version: '1.0',
  type: 'task.progress',
  from: 'galahad',
  timestamp: '2026-02-08T15:00:30Z',
  correlationId: TASK_ID,
  payload: {
    percent: 60,
    message: 'Analyzed 3/5 threat feeds. Spawning CVE sub-agent.',
    subTasks: [
      { id: 'sub-001', status: 'completed', description: 'RSS feed analysis' },
      { id: 'sub-002', status: 'in_progress', description: 'CVE deep dive' },
    ],
  },
};
const result = {
  id: '880e8400-e29b-41d4-a716-446655440003',
  version: '1.0',
  type: 'task.result',
  from: 'galahad',
  to: 'tim',
  timestamp: '2026-02-08T15:02:00Z',
  correlationId: TASK_ID,
  payload: {
    status: 'completed',
    result: {
      format: 'markdown',
      content: '## Security Briefing — 2026-02-08\n\n### Critical\n- CVE-2026-1234: ...',
      metadata: { sourcesChecked: 5, threatsFound: 3, criticalCount: 1, processingTimeMs: 119000 },
    },
  },
};
const failed = {
  id: '990e8400-e29b-41d4-a716-446655440004',
  version: '1.0',
  type: 'task.failed',
  from: 'galahad',
  to: 'tim',
  timestamp: '2026-02-08T15:02:00Z',
  correlationId: TASK_ID,
  payload: {
    error: 'rate_limited',
    message: 'LLM API rate limit exceeded. Retry after 60s.',
    retryable: true,
    retryAfterSeconds: 60,
  },
};
const heartbeat = {
  id: 'aa0e8400-e29b-41d4-a716-446655440005',
  version: '1.0',
  type: 'heartbeat',
  from: 'galahad',
  timestamp: '2026-02-08T15:00:00Z',
  payload: {
    status: 'healthy',
    uptime: 86400,
    capabilities: ['security.briefing', 'security.cve-analysis', 'security.threat-scan'],
    activeTaskCount: 1,
    model: 'claude-sonnet-4-20250514',
    version: '1.0.0',
  },
};

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
    const inState = (state: string) => eventually(async () => assert.equal((await tim.task(TASK_ID)).state, state));
    await say('roundtable.events.task.claimed', claimed);
    await inState('claimed');
    await say('roundtable.events.task.progress', progress);
    await inState('in_progress');
    await say('roundtable.heartbeat.galahad', heartbeat);
    await say('roundtable.results.security.550e8400', result);
    await inState('completed');
    assert.deepEqual((await tim.task(TASK_ID)).result, result.payload.result);
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
