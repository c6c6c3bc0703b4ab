import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LogEntry } from '../../shared/events/message-log.ts';
import { canonicalId } from '../../shared/ids.ts';
import { agentOsAgent } from '../support/agent-os-agent.ts';
import type { Caller } from '../support/api.ts';
import { type TestOptions, testParley } from '../support/test-parley.ts';
import { assertRefused, settled } from './refusal.ts';

const start = async (t: Parameters<typeof testParley>[0], options?: TestOptions) => {
  const parley = await testParley(t, options);
  return { parley, brain: await agentOsAgent(parley, 'one-brain'), scribe: await agentOsAgent(parley, 'scribe') };
};

const logged = async (caller: Caller, query = ''): Promise<LogEntry[]> => {
  const { status, body } = await caller.call('GET', `/v1/log${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.entries;
};

const lines = (entries: LogEntry[]): string[] =>
  entries.map((of) => `${of.direction} ${of.type} ${of.fromAgent}>${of.toAgent} ${of.status} ${of.latencyMs}`);

describe('the log of messages', () => {
  it('has an entry for each message sent and each received, with what it was worth', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    parley.clock.advance(10);
    await scribe.claim();
    parley.clock.advance(10);
    await scribe.say('event', 'one-brain', { replyTo: query.id });
    parley.clock.advance(10);
    const response = scribe.message('response', 'one-brain', {
      replyTo: query.id,
      evidence: { sources: [{ id: 'a' }, { id: 'b' }], confidence: 85, citations: [], provenance: [] },
    });
    await scribe.send(response);
    await scribe.send(response);
    parley.clock.advance(10);
    const gap = await scribe.say('gap', 'one-brain');
    parley.clock.advance(10);
    await brain.ack(gap.id);
    await settled(parley);
    for (const limit of [2, 3, 4, 5]) assert.ok((await logged(parley.admin, `?limit=${limit}`)).length <= limit);
    const entries = await logged(parley.admin);
    assert.deepEqual(lines(entries).reverse(), [
      'sent query one-brain>scribe success 0',
      'received query one-brain>scribe success 10',
      'received event scribe>one-brain success 20',
      'sent event scribe>one-brain success 20',
      'received response scribe>one-brain success 30',
      'sent response scribe>one-brain success 30',
      'sent gap scribe>one-brain success 0',
      'received gap scribe>one-brain success 10',
    ]);
    const answer = entries.find(({ type }) => type === 'response');
    assert.deepEqual(
      [answer?.messageId, answer?.evidenceCount, answer?.confidenceScore, answer?.timestamp],
      [response.id, 2, 85, '2026-03-01T12:00:00.030Z'],
    );
  });

  it('tells errors and what nobody took in time', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const failing = await brain.say('query', 'scribe');
    await scribe.claim();
    await scribe.err('one-brain', { code: 'DATA_UNAVAILABLE', message: 'x' }, { replyTo: failing.id });
    parley.clock.advance(1000);
    await settled(parley);
    await scribe.claim();
    await scribe.err('one-brain', { code: 'SAFETY_VIOLATION', message: 'x' });
    await brain.say('query', 'scribe', { ttl: 30 });
    await brain.say('event', 'scribe', { ttl: 30 });
    parley.clock.advance(30_000);
    await settled(parley);
    assert.deepEqual(lines(await logged(parley.admin, '?status=error')).sort(), [
      'received error scribe>one-brain error 1000',
      'sent error scribe>one-brain error 0',
      'sent error scribe>one-brain error 1000',
    ]);
    assert.equal((await logged(parley.admin, '?type=error')).length, 3);
    assert.deepEqual(lines(await logged(parley.admin, '?status=timeout')).sort(), [
      'received event one-brain>scribe timeout 30000',
      'received query one-brain>scribe timeout 30000',
    ]);
  });

  it('has what the law against fabrication blocked, which nobody received', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    const fabricated = scribe.message('response', 'one-brain', {
      replyTo: query.id,
      evidence: { sources: [], confidence: 70, citations: [], provenance: [] },
    });
    for (let times = 0; times < 2; times++) {
      assertRefused(await scribe.send(fabricated), 422, 'fabrication_detected');
      parley.clock.advance(1000);
    }
    await settled(parley);
    const entries = await logged(parley.admin, '?status=error');
    assert.deepEqual(lines(entries), ['sent response scribe>one-brain error 0']);
    assert.deepEqual(
      entries.map((of) => [of.messageId, of.taskId, of.evidenceCount, of.confidenceScore]),
      [[fabricated.id, canonicalId(query.id), 0, 70]],
    );
    assert.deepEqual(await logged(brain, '?status=error'), []);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=message.blocked')).body;
    assert.deepEqual(
      events.map(({ data }: { data: Record<string, string> }) => [data.from, data.to, data.law]),
      [['scribe', 'one-brain', 'R0']],
    );
  });

  it('begins where its time ends, however much was logged since, and says where it can be read on', async (t) => {
    const { parley, brain } = await start(t);
    const old = await brain.say('event', 'scribe');
    parley.clock.advance(3_600_000);
    for (let times = 0; times < 40; times++) await brain.say('evidence', 'scribe');
    await settled(parley);
    const sought = await logged(parley.admin, '?limit=2&to=2026-03-01T12:10:00Z');
    assert.deepEqual(
      sought.map(({ messageId }) => messageId),
      [old.id],
    );
    const { body } = await parley.admin.call('GET', '/v1/log?limit=2&type=event');
    assert.deepEqual(body.entries, []);
    assert.equal(typeof body.cursor, 'string');
  });

  it('is read by agent, type and time, and page by page, each entry once', async (t) => {
    const { parley, brain, scribe } = await start(t);
    for (let times = 0; times < 6; times++) {
      await brain.say('event', 'scribe');
      await scribe.say('evidence', 'one-brain');
      parley.clock.advance(60_000);
    }
    await settled(parley);
    assert.equal((await logged(parley.admin, '?agent=scribe')).length, 6);
    assert.equal((await logged(parley.admin, '?type=event')).length, 6);
    assert.equal((await logged(parley.admin, '?agent=scribe&type=event')).length, 0);
    const time = '?from=2026-03-01T12:01:00Z&to=2026-03-01T12:03:00Z';
    assert.equal((await logged(parley.admin, time)).length, 6);
    const read: string[] = [];
    let cursor = '';
    do {
      const { body } = await parley.admin.call('GET', `/v1/log?limit=4${cursor}`);
      assert.ok(body.entries.length <= 4);
      read.push(...body.entries.map(({ messageId }: LogEntry) => messageId));
      cursor = body.cursor ? `&cursor=${body.cursor}` : '';
    } while (cursor);
    assert.equal(read.length, 12);
    assert.equal(new Set(read).size, 12);
  });

  it('shows an agent its own entries and no others', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const other = await agentOsAgent(parley, 'other');
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    await scribe.respond('one-brain', query.id);
    await settled(parley);
    assert.deepEqual(
      (await logged(brain)).map(({ direction, type }) => `${direction} ${type}`),
      ['received response', 'sent query'],
    );
    assert.deepEqual(await logged(brain, '?agent=scribe'), []);
    assert.deepEqual(await logged(other), []);
  });

  it('is switched on and off for each dialect in the configuration', async (t) => {
    const { parley, brain } = await start(t, { config: { messageLog: { 'agent-os': false, 'round-table': true } } });
    const tim = await parley.agent('tim');
    await brain.say('event', 'tim');
    await tim.request();
    await settled(parley);
    const own = (await logged(parley.admin)).filter(({ fromAgent }) => !['witness', 'clerk'].includes(fromAgent));
    assert.deepEqual(lines(own), ['sent task.request tim>undefined success 0']);
  });

  it('refuses a filter that is not right', async (t) => {
    const { parley } = await start(t);
    for (const query of ['status=lost', 'from=yesterday', 'to=2026-03-01', 'limit=1', 'cursor=x', 'colour=red']) {
      assertRefused(await parley.admin.call('GET', `/v1/log?${query}`), 400, 'invalid_request');
    }
  });
});
