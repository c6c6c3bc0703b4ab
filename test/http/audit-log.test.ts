import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toCanonicalId } from '../../shared/kernel/ids.ts';
import type { AuditLogEntry } from '../../shared/messaging/audit-log/read-audit-log.ts';
import { agentOsAgent } from '../support/agent-os-agent.ts';
import { taskRequest } from '../support/api.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { lines, logged, start } from './logged.ts';
import { assertRefused, settled } from './refusal.ts';

describe('audit log', () => {
  it('logs each sent and each received message with evidence count and confidence', async (t) => {
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

  it('logs the answers to an agent of a logged dialect that sent its request in another dialect', async (t) => {
    const { parley, brain } = await start(t);
    const cook = await parley.agent('cook', { ...taskFormat, capabilities: ['parse_recipe'] });
    for (const end of [
      { status: 'completed', result: {} },
      { status: 'failed', error: { code: 'INVALID_INPUT', message: 'no' } },
    ]) {
      const request = tfRequest();
      const asked = await brain.call('POST', '/v1/tasks', { ...request, routing: { source: 'one-brain' } });
      assert.equal(asked.status, 202, JSON.stringify(asked.body));
      await cook.claim();
      assert.equal((await cook.send({ id: request.id, status: 'in_progress' })).status, 202);
      assert.equal((await cook.send({ id: request.id, ...end })).status, 202);
    }
    await settled(parley);
    assert.deepEqual(lines(await logged(parley.admin)).reverse(), [
      'received event cook>one-brain success 0',
      'received response cook>one-brain success 0',
      'received event cook>one-brain success 0',
      'received error cook>one-brain error 0',
    ]);
  });

  it('logs errors and timeouts with their status in the audit log', async (t) => {
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
    assert.equal((await logged(parley.admin, '?type=error&status=error')).length, 3);
    assert.deepEqual(lines(await logged(parley.admin, '?status=timeout')).sort(), [
      'received error parley>one-brain timeout 30000',
      'received event one-brain>scribe timeout 30000',
      'received query one-brain>scribe timeout 30000',
    ]);
  });

  it('logs a response that was blocked as fabricated as sent and not as received', async (t) => {
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
      [[fabricated.id, toCanonicalId(query.id), 0, 70]],
    );
    assert.deepEqual(await logged(brain, '?status=error'), []);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=message.blocked')).body;
    assert.deepEqual(
      events.map(({ data }: { data: Record<string, string> }) => [data.from, data.to, data.law]),
      [['scribe', 'one-brain', 'R0']],
    );
  });

  it('logs a message that is not valid once, as an error of its sender', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const bad = brain.message('query', 'scribe', {
      timestamp: 'yesterday',
      evidence: { confidence: 900, sources: [1] },
    });
    for (let times = 0; times < 2; times++) assertRefused(await brain.send(bad), 400, 'invalid_message');
    assertRefused(await brain.send(brain.message('query', 'nobody')), 422, 'unknown_agent');
    assertRefused(await brain.send(brain.message('riddle', 'scribe')), 400, 'unknown_type');
    assertRefused(await brain.send({ from: { agentId: 'one-brain' }, to: 'x', type: 7 }), 400, 'invalid_message');
    await settled(parley);
    const entries = await logged(parley.admin, '?status=error');
    assert.deepEqual(lines(entries).sort(), [
      'sent query one-brain>nobody error 0',
      'sent query one-brain>scribe error 0',
      'sent riddle one-brain>scribe error 0',
      'sent unknown one-brain>undefined error 0',
    ]);
    const entry = entries.find(({ messageId }) => messageId === bad.id);
    assert.deepEqual([entry?.evidenceCount, entry?.confidenceScore], [1, 900]);
    assert.equal((await logged(brain, '?status=error')).length, 4);
    assert.deepEqual(await logged(scribe, '?status=error'), []);
    assert.ok(parley.logged.includes('warn message rejected: invalid'), parley.logged.join());
  });

  it('logs a message that is not valid by the id and the recipient that it names, in any dialect', async (t) => {
    const parley = await testParley(t, { config: { auditLog: { 'message-routing': true, 'round-table': true } } });
    const lead = await parley.agent('lead', messageRouting);
    const tim = await parley.agent('tim');
    await parley.agent('coder', messageRouting);
    const update = mrMessage('status-update', 'lead', 'coder', { payload: {} });
    assertRefused(await lead.send(update), 400, 'invalid_message');
    const request = taskRequest('tim', { to: 'coder', ttl: 0 });
    assertRefused(await tim.send(request), 400, 'invalid_message');
    await settled(parley);
    assert.deepEqual(
      (await logged(parley.admin, '?status=error')).map(({ messageId, toAgent }) => [messageId, toAgent]).toSorted(),
      [
        [update.msg_id, 'coder'],
        [request.id, 'coder'],
      ].toSorted(),
    );
  });

  it('keeps no message that is not valid of a dialect that is not logged', async (t) => {
    const parley = await testParley(t, { config: { auditLog: { 'agent-os': false } } });
    const brain = await agentOsAgent(parley, 'one-brain');
    assertRefused(await brain.send(brain.message('query', 'nobody')), 422, 'unknown_agent');
    const cook = await parley.agent('cook', taskFormat);
    assertRefused(await cook.send(tfRequest({ payload: 1 })), 400, 'invalid_message');
    await settled(parley);
    assert.deepEqual((await parley.admin.call('GET', '/v1/events?type=message.rejected')).body.events, []);
  });

  it('counts messages that are not valid among those that an agent may send', async (t) => {
    const { parley, brain } = await start(t);
    await parley.admin.call('PUT', '/v1/agents/one-brain', { dialect: 'agent-os', limits: { messagesPerMinute: 2 } });
    const send = (id: number) => brain.send(brain.message('query', 'scribe', { timestamp: `${id}` }));
    assertRefused(await send(1), 400, 'invalid_message');
    assertRefused(await send(2), 400, 'invalid_message');
    assertRefused(await send(3), 429, 'rate_limited');
    await settled(parley);
    assert.equal((await logged(parley.admin, '?status=error')).length, 2);
  });

  it('finds old audit log entries by time behind many newer ones', async (t) => {
    const { parley, brain } = await start(t);
    const old = await brain.say('event', 'scribe');
    parley.clock.advance(3_600_000);
    for (let times = 0; times < 40; times++) await brain.say('evidence', 'scribe');
    await settled(parley);
    const sought = await logged(parley.admin, '?limit=2&to=2026-03-01T12:09:00Z');
    assert.deepEqual(
      sought.map(({ messageId }) => messageId),
      [old.id],
    );
  });

  it('limits the reads of one call and continues a sparse filter from its cursor', async (t) => {
    let reads = 0;
    const { parley, brain } = await start(t, {
      wrapPorts: (ports) => ({
        ...ports,
        events: {
          ...ports.events,
          read: (...args) => {
            reads += 1;
            return ports.events.read(...args);
          },
        },
      }),
    });
    const old = await brain.say('event', 'scribe');
    for (let calls = 0; calls < 40; calls++) {
      const messages = Array.from({ length: 25 }, () => brain.message('evidence', 'scribe'));
      assert.equal((await brain.send({ messages })).status, 200);
      if (calls % 10 === 9) await settled(parley);
    }
    const found: string[] = [];
    const cursors: string[] = [];
    do {
      reads = 0;
      const after = cursors.length > 0 ? `&cursor=${cursors.at(-1)}` : '';
      const { body } = await parley.admin.call('GET', `/v1/audit-log?limit=2&type=event&agent=one-brain${after}`);
      assert.ok(reads <= 6, `${reads} reads`);
      found.push(...body.entries.map(({ messageId }: AuditLogEntry) => messageId));
      cursors.push(body.cursor);
    } while (cursors.at(-1) !== undefined);
    assert.deepEqual(found, [old.id]);
    assert.equal(new Set(cursors).size, cursors.length);
    // A thousand events, four hundred at a time.
    assert.ok(cursors.length > 2 && cursors.length <= 4, `${cursors.length} calls`);
  });

  it('filters the audit log by agent, type and time and returns each entry once across pages', async (t) => {
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
      const { body } = await parley.admin.call('GET', `/v1/audit-log?limit=4${cursor}`);
      assert.ok(body.entries.length <= 4);
      read.push(...body.entries.map(({ messageId }: AuditLogEntry) => messageId));
      cursor = body.cursor ? `&cursor=${body.cursor}` : '';
    } while (cursor);
    assert.equal(read.length, 12);
    assert.equal(new Set(read).size, 12);
  });

  it('shows an agent only its own audit log entries', async (t) => {
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

  it('logs only messages of the dialects that the configuration enables', async (t) => {
    const { parley, brain } = await start(t, { config: { auditLog: { 'agent-os': false, 'round-table': true } } });
    const requester = await parley.agent('requester');
    await brain.say('event', 'requester');
    await requester.request();
    await settled(parley);
    const own = (await logged(parley.admin)).filter(({ fromAgent }) => !['witness', 'clerk'].includes(fromAgent));
    assert.deepEqual(lines(own), ['sent task.request requester>undefined success 0']);
  });

  it('rejects invalid filters of the audit log', async (t) => {
    const { parley } = await start(t);
    for (const query of ['status=lost', 'from=yesterday', 'to=2026-03-01', 'limit=1', 'cursor=x', 'colour=red']) {
      assertRefused(await parley.admin.call('GET', `/v1/audit-log?${query}`), 400, 'invalid_request');
    }
  });
});
