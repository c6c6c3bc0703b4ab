import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import type { LogEntry } from '../../shared/events/message-log.ts';
import { canonicalId } from '../../shared/ids.ts';
import { agentOsAgent } from '../support/agent-os-agent.ts';
import type { Caller } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestOptions, type TestParley, testParley } from '../support/test-parley.ts';
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

  it('has what an agent of a logged dialect is answered, though it asked in another', async (t) => {
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
    assert.equal((await logged(parley.admin, '?type=error&status=error')).length, 3);
    assert.deepEqual(lines(await logged(parley.admin, '?status=timeout')).sort(), [
      'received error parley>one-brain timeout 30000',
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

  it('begins where its time ends, however much was logged since', async (t) => {
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

  it('costs a call so many reads and no more, and a filter that finds little goes on behind what was looked at', async (t) => {
    let reads = 0;
    const { parley, brain } = await start(t, {
      through: (ports) => ({
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
      const { body } = await parley.admin.call('GET', `/v1/log?limit=2&type=event&agent=one-brain${after}`);
      assert.ok(reads <= 6, `${reads} reads`);
      found.push(...body.entries.map(({ messageId }: LogEntry) => messageId));
      cursors.push(body.cursor);
    } while (cursors.at(-1) !== undefined);
    assert.deepEqual(found, [old.id]);
    assert.equal(new Set(cursors).size, cursors.length);
    // A thousand events, four hundred at a time.
    assert.ok(cursors.length > 2 && cursors.length <= 4, `${cursors.length} calls`);
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

/** What the agent has received, oldest first, without how long it took. */
const received = async (parley: TestParley, agent: string): Promise<string[]> => {
  await settled(parley);
  const entries = await logged(parley.admin, `?agent=${agent}&limit=200`);
  return entries
    .filter(({ direction }) => direction === 'received')
    .map(({ type, fromAgent, status }) => `${type} ${fromAgent} ${status}`)
    .reverse();
};

describe('what an agent received', () => {
  it('has that nobody took its task, and that whoever did was lost', async (t) => {
    const { parley, brain, scribe } = await start(t, { config: { tasks: { ...baseConfig.tasks, maxAttempts: 1 } } });
    await brain.say('query', 'scribe', { ttl: 30 });
    parley.clock.advance(30_000);
    await settled(parley);
    const [expiry] = await brain.inbox();
    assert.deepEqual([expiry.type, expiry.payload.content.code], ['error', 'TIMEOUT']);
    await brain.say('query', 'scribe');
    await scribe.claim();
    parley.clock.advance(baseConfig.tasks.leaseMs);
    assert.deepEqual(await received(parley, 'one-brain'), ['error parley timeout', 'error parley timeout']);
    const [, first] = await logged(brain, '?type=error&status=timeout');
    assert.deepEqual(
      [first?.messageId, first?.taskId, first?.latencyMs],
      [expiry.id, canonicalId(expiry.replyTo), 30_000],
    );
    // What it never saw is no message that it received with success.
    assert.deepEqual(await received(parley, 'scribe'), ['query one-brain timeout', 'query one-brain success']);
  });

  it('has a cancel, for whoever is told of it and did not ask for it', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const [own, other] = [await brain.say('query', 'scribe'), await brain.say('query', 'scribe')];
    assert.equal((await scribe.claim({ max: 2 })).length, 2);
    assert.equal((await brain.call('POST', `/v1/tasks/${own.id}/cancel`)).status, 200);
    assert.equal((await parley.admin.call('POST', `/v1/tasks/${other.id}/cancel`)).status, 200);
    const requests = ['query one-brain success', 'query one-brain success'];
    assert.deepEqual(await received(parley, 'scribe'), [...requests, 'error parley error', 'error parley error']);
    assert.deepEqual(await received(parley, 'one-brain'), ['error parley error']);
  });

  it('has progress, questions, answers, results and failures of agents whose own dialect is not logged', async (t) => {
    const { parley, brain } = await start(t);
    const cook = await parley.agent('cook', taskFormat);
    const [good, bad] = [await brain.say('command', 'cook'), await brain.say('command', 'cook')];
    assert.equal((await cook.claim({ max: 2 })).length, 2);
    const says = async (message: object) => assert.equal((await cook.send(message)).status, 202);
    const [id, failing] = [canonicalId(good.id), canonicalId(bad.id)];
    await says({ id, status: 'in_progress', metadata: { progress: 10 } });
    await says({ id, status: 'input_required', input: { prompt: 'Why?' } });
    assert.equal((await brain.call('POST', `/v1/tasks/${id}/input`, { input: 'because' })).status, 202);
    await says({ id, status: 'completed', result: 'done' });
    await says({ id: failing, status: 'failed', error: { code: 'INVALID_INPUT', message: 'burnt' } });
    assert.deepEqual(await received(parley, 'one-brain'), [
      'event cook success',
      'event cook success',
      'response cook success',
      'error cook error',
    ]);
    const command = 'command one-brain success';
    assert.deepEqual(await received(parley, 'cook'), [command, command, 'event one-brain success']);
    assert.deepEqual(
      (await logged(parley.admin, '?agent=cook')).filter(({ direction }) => direction === 'sent'),
      [],
    );
  });

  it('has requests, notes and the end of a batch, whatever dialect they came in', async (t) => {
    const { parley, brain } = await start(t);
    const tim = await parley.agent('tim');
    const batch = { tasks: [brain.message('query', 'tim')] };
    assert.equal((await brain.call('POST', '/v1/batches', batch)).status, 202);
    const [asked] = await tim.claim();
    await tim.complete(asked.message.id);
    await settled(parley);
    const boss = await parley.agent('boss', { dialect: 'message-routing', role: 'coordinator' });
    assert.equal(
      (await boss.send(mrMessage('command', 'boss', 'one-brain', { payload: { action: 'resume' } }))).status,
      202,
    );
    const inbox = await brain.inbox();
    await brain.ack(...inbox.map(({ id }) => id));
    await tim.request({ to: 'one-brain', payload: { task: 'intel.news' } });
    await brain.claim();
    assert.deepEqual(await received(parley, 'one-brain'), [
      'response tim success',
      'event parley success',
      'event boss success',
      'command tim success',
    ]);
    assert.deepEqual(lines(await logged(parley.admin, '?agent=boss')), []);
  });

  it('has questions as their sender sent them, where its dialect is logged', async (t) => {
    const parley = await testParley(t, { config: { messageLog: { 'task-format': true } } });
    const { orchestrator, cook } = await kitchen(parley);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    await cook.claim();
    await cook.send({ id, status: 'input_required', input: { prompt: 'Why?' } });
    await settled(parley);
    const asked = (await logged(parley.admin, '?type=ask')).map(
      (of) => `${of.direction} ${of.fromAgent}>${of.toAgent}`,
    );
    assert.deepEqual(asked.sort(), ['received cook>orchestrator', 'sent cook>orchestrator']);
  });
});
