import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { defineConfig } from '../../shared/config/config.ts';
import { about } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { relaySite, SITE_CONFIG } from '../support/relay-site.ts';

const HEARTBEAT_MS = 400;
/** Of a domain that Parley serves: what it does not know there may still come. */
const resultOf = (task: string) => `roundtable.results.intel.${task}`;

const heartbeat = (from: string) => ({
  id: randomUUID() as string,
  version: '1.0',
  type: 'heartbeat',
  from,
  timestamp: new Date().toISOString(),
  payload: {
    status: 'healthy',
    uptime: 1,
    capabilities: ['security.briefing'],
    activeTaskCount: 0,
    model: 'm',
    version: '1.0.0',
  },
});

describe('an agent on NATS', () => {
  it('lives by what it says, and not by what the relay brings again', async (t) => {
    const config = defineConfig({ ...SITE_CONFIG, agents: { ...SITE_CONFIG.agents, heartbeatMs: HEARTBEAT_MS } });
    const site = await relaySite(t, { config });
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    const relay = await site.relay();
    const js = jetstream(site.client);
    const healthOf = async () => (await site.admin.call('GET', '/v1/agents/galahad')).body.health;
    const retries = () => relay.metrics.getCount('ingress', 'retries');

    await js.publish('roundtable.heartbeat.galahad', JSON.stringify(heartbeat('galahad')));
    await eventually(async () => assert.equal((await healthOf()).online, true));
    // Of a task that Parley never had: it is brought again, with growing pauses, for five minutes.
    const done = { status: 'completed', result: {} };
    const result = about('task.result', 'galahad', randomUUID(), done);
    await eventually(async () => assert.ok(Date.now() - Date.parse((await healthOf()).lastSeen) > HEARTBEAT_MS / 2));
    await js.publish(resultOf(result.correlationId), JSON.stringify(result));
    const saidAt = Date.now();
    await eventually(() => assert.ok(retries() >= 1));
    const { lastSeen } = await healthOf();
    assert.ok(Date.parse(lastSeen) <= saidAt, 'it was seen when it spoke, not when that was brought');
    await eventually(() => assert.ok(retries() >= 3));
    assert.equal((await healthOf()).lastSeen, lastSeen);
    await eventually(async () => assert.equal((await healthOf()).online, false));

    // What it says anew brings it back.
    const another = about('task.result', 'galahad', randomUUID(), done);
    await js.publish(resultOf(another.correlationId), JSON.stringify(another));
    await eventually(async () => assert.equal((await healthOf()).online, true));
  });
});
