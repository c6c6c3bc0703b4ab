import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { agentOsAgent, content } from '../support/agent-os-agent.ts';
import type { Caller } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  return { parley, scout: await agentOsAgent(parley, 'scout'), monitor: await agentOsAgent(parley, 'monitor') };
};

const listed = async (caller: Caller, query = ''): Promise<string[]> => {
  const { status, body } = await caller.call('GET', `/v1/gaps${query}`);
  assert.equal(status, 200);
  return body.gaps.map(({ id }: { id: string }) => `msg-${id}`);
};

const bare = (id: string): string => id.replace('msg-', '');

describe('gap', () => {
  it('lists a gap until it is closed, whether it is read and whatever its TTL', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const said = { gapType: 'missing_data', priority: 'medium' };
    const gap = await scout.say('gap', 'monitor', { payload: content(said), ttl: 30, priority: 'low' });
    await scout.say('event', 'monitor');
    await monitor.ack(gap.id);
    parley.clock.advance(30 * 86_400_000);
    await parley.restart();
    const [ticket] = (await parley.admin.call('GET', '/v1/gaps')).body.gaps;
    assert.deepEqual(ticket, {
      id: bare(gap.id),
      type: 'agent-os.gap',
      from: 'scout',
      to: 'monitor',
      status: 'open',
      priority: 'low',
      openedAt: '2026-03-01T12:00:00.000Z',
      content: said,
    });
    const closed = await monitor.call('POST', `/v1/gaps/scout/${gap.id}/close`);
    assert.deepEqual([closed.status, closed.body.status], [200, 'closed']);
    assert.deepEqual((await monitor.call('POST', `/v1/gaps/scout/${gap.id}/close`)).body, closed.body);
    assert.deepEqual(await listed(parley.admin), []);
    assert.deepEqual(await listed(parley.admin, '?status=closed'), [gap.id]);
    assert.equal((await scout.send(gap)).body.duplicate, true);
    parley.clock.advance(8 * 86_400_000);
    assert.deepEqual(await listed(parley.admin, '?status=closed'), []);
  });

  it('names a gap in no cursor of an agent that may not see it', async (t) => {
    const { parley, scout } = await start(t);
    const other = await agentOsAgent(parley, 'other');
    const gap = await scout.say('gap', 'monitor');
    const { gaps, cursor } = (await other.call('GET', '/v1/gaps?limit=1')).body;
    assert.deepEqual(gaps, []);
    assert.match(cursor, /^\d{14}#/);
    assert.doesNotMatch(cursor, new RegExp(`scout|${bare(gap.id)}`));
  });

  it('lists gaps newest first, page by page', async (t) => {
    const { parley, scout } = await start(t);
    const ids: string[] = [];
    for (let times = 0; times < 5; times++) {
      ids.unshift((await scout.say('gap', 'monitor')).id);
      parley.clock.advance(1);
    }
    const read: string[] = [];
    let cursor = '';
    do {
      const { body } = await parley.admin.call('GET', `/v1/gaps?limit=2${cursor}`);
      read.push(...body.gaps.map(({ id }: { id: string }) => `msg-${id}`));
      cursor = body.cursor ? `&cursor=${encodeURIComponent(body.cursor)}` : '';
    } while (cursor);
    assert.deepEqual(read, ids);
  });

  it('shows a gap to its sender, its recipient and administrators, and lets only them close it', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const other = await agentOsAgent(parley, 'other');
    const { id } = await scout.say('gap', 'monitor');
    assert.deepEqual(await listed(other), []);
    assertRefused(await other.call('POST', `/v1/gaps/scout/${id}/close`), 404, 'not_found');
    for (const caller of [scout, monitor, parley.admin]) assert.deepEqual(await listed(caller), [id]);
    const event = await scout.say('event', 'monitor');
    assertRefused(await parley.admin.call('POST', `/v1/gaps/scout/${event.id}/close`), 404, 'not_found');
    assertRefused(await parley.admin.call('GET', '/v1/gaps?cursor=yesterday'), 400, 'invalid_request');
    assertRefused(await parley.admin.call('GET', '/v1/gaps?status=lost'), 400, 'invalid_request');
  });
});
