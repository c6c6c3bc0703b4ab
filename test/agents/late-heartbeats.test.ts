import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { callerWith, registered } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const MINUTE_MS = 60_000;

describe('heartbeat from the relay', () => {
  it('dates a late heartbeat by its publication and sets no silent agent online', async (t) => {
    const parley = await testParley(t);
    await registered(parley.transport, parley.admin, 'nim', { transport: 'nats' });
    const relay = callerWith(parley.transport, (await parley.admin.call('POST', '/v1/relay/key')).body.key);
    const bring = async (saidAt: number) => {
      const timestamp = new Date(saidAt).toISOString();
      const payload = { status: 'busy', capabilities: [] };
      const message = { id: randomUUID(), version: '1.0', type: 'heartbeat', from: 'nim', timestamp, payload };
      const arrivals = [{ subject: 'parley.default.send', headers: {}, publishedAt: saidAt }];
      const { body } = await relay.call('POST', '/v1/messages', { messages: [message], envelopes: arrivals });
      assert.equal(body.results[0].status, 202, JSON.stringify(body));
      const { online, lastSeen } = (await parley.admin.call('GET', '/v1/agents/nim')).body.health;
      return { online, lastSeen: Date.parse(lastSeen) };
    };
    const long = parley.clock.now() - 30 * MINUTE_MS;
    assert.deepEqual(await bring(long), { online: false, lastSeen: long });
    const lately = parley.clock.now() - MINUTE_MS;
    assert.deepEqual(await bring(lately), { online: true, lastSeen: lately });
    const now = parley.clock.now();
    assert.deepEqual(await bring(now), { online: true, lastSeen: now });
    assert.deepEqual(await bring(now - 10), { online: true, lastSeen: now }, 'a late one does not make it seem silent');
  });
});
