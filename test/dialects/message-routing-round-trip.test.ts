import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findUnsafeJson } from '../../shared/kernel/json/find-unsafe-json.ts';
import { MAX_SEQUENCE } from '../../shared/model/command.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const texts = fc.array(text, { maxLength: 3 });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const time = fc.constantFrom('2026-02-08T15:00:00Z', '2026-02-08T18:00:00.123+03:00');
const json = fc
  .jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })
  .filter((value) => findUnsafeJson(value) === undefined);
const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { requiredKeys: [] });

const PAYLOADS = {
  'task-delegation': fc.record({
    task: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }),
    context: some({
      files: texts,
      dependencies: fc.constant([]),
      deadline: fc.constant('2026-02-08T16:30:00Z'),
      more: json,
    }),
    metadata: some({ original_requester: fc.constantFrom('sender', 'somebody'), delegation_reason: text }),
    more: json,
  }),
  result: fc.record({
    status: fc.constantFrom('success', 'partial', 'failure'),
    deliverables: some({ files_modified: texts, tests_added: texts, artifacts: texts }),
    metrics: some({ confidence: share, test_coverage: share, duration_ms: fc.nat() }),
    issues: texts,
    next_steps: texts,
  }),
  'status-update': fc.record({
    status: fc.constantFrom('in_progress', 'completed', 'blocked'),
    progress: share,
    message: text,
    confidence: share,
    blockers: texts,
    more: json,
  }),
};

const message = (type: keyof typeof PAYLOADS, from: string, to: string): fc.Arbitrary<Wire> =>
  fc.record({
    version: fc.constantFrom('1.0.0', '1.7.12'),
    from: fc.constant(from),
    to: fc.constant(to),
    timestamp: time,
    sequence: fc.integer({ min: 1, max: MAX_SEQUENCE }),
    type: fc.constant(type),
    payload: PAYLOADS[type] as fc.Arbitrary<unknown>,
    requires_ack: fc.boolean(),
    priority: fc.integer({ min: 0, max: 10 }),
    later: json,
  });

/** The id is new in every run, so that a shrunk counterexample is not a repetition. */
const sent = (unsent: Wire, more: object = {}): Wire =>
  JSON.parse(JSON.stringify({ ...unsent, msg_id: `msg_${randomBytes(4).toString('hex')}`, ...more }));

describe('Message Routing round trip', () => {
  it('delivers any task, status update, result or direct message unchanged', async (t) => {
    const parley = await testParley(t);
    const sender = await parley.agent('sender', { ...messageRouting, inbox: 'ends' });
    const worker = await parley.agent('worker', messageRouting);
    const accepted = async (agent: typeof sender, wire: Wire) => {
      const { status, body } = await agent.send(wire);
      assert.equal(status, 202, JSON.stringify([wire, body]));
    };
    await fc.assert(
      fc.asyncProperty(
        message('task-delegation', 'sender', 'worker'),
        message('status-update', 'worker', 'sender'),
        message('result', 'worker', 'sender'),
        message('status-update', 'worker', 'sender'),
        async (task, report, end, note) => {
          const noted = sent(note);
          await accepted(worker, noted);
          assert.deepEqual(await sender.inbox(), [noted]);
          await sender.call('POST', '/v1/inbox/ack', { ids: [noted.msg_id] });
          const asked = sent(task);
          await accepted(sender, asked);
          const [claimed] = await worker.claim();
          assert.deepEqual(claimed.message, asked);
          const told = sent(report, { correlation_id: asked.msg_id });
          await accepted(worker, told);
          const path = `/v1/tasks/${asked.msg_id}?dialect=message-routing`;
          assert.deepEqual((await sender.call('GET', path)).body, told);
          if (told.payload.status === 'blocked') {
            assert.deepEqual(await sender.inbox(20), [told]);
            await sender.call('POST', '/v1/inbox/ack', { ids: [told.msg_id] });
          }
          const result = sent(end, { correlation_id: asked.msg_id });
          await accepted(worker, result);
          assert.deepEqual(await sender.inbox(20), [result]);
          await sender.call('POST', '/v1/inbox/ack', { ids: [result.msg_id] });
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('content beyond the Message Routing size limit', () => {
  it('stores large content of a task, a result or a direct message as a card, and refers to a large error', async (t) => {
    const parley = await testParley(t);
    const cook = await parley.agent('cook', taskFormat);
    const reader = await parley.agent('reader', { ...messageRouting, inbox: 'ends' });
    const large = 'ß'.repeat(9000);
    const fits = (wire: Wire) => assert.ok(Buffer.byteLength(JSON.stringify(wire)) <= 10_240);
    await cook.send(tfRequest({ payload: { large }, routing: { target: 'reader' } }));
    const [{ message: task }] = await reader.claim();
    fits(task);
    const inCard = async ({ uri }: Wire) => (await reader.call('GET', uri)).body.content;
    assert.deepEqual(await inCard(task.payload.parley.input), { large });
    const asked = mrMessage('task-delegation', 'reader', 'cook');
    await reader.send(asked);
    const [{ message: own }] = await cook.claim();
    await cook.send({
      id: own.id,
      status: 'failed',
      error: { code: 'INVALID_INPUT', message: 'ß'.repeat(4000), details: { large } },
    });
    const [result] = await reader.inbox(20);
    fits(result);
    assert.deepEqual([result.payload.status, result.payload.issues[0].slice(0, 3)], ['failure', 'ßßß']);
    assert.equal((await reader.call('GET', result.payload.parley.reference)).body.error.details.large, large);
    const again = mrMessage('task-delegation', 'reader', 'cook');
    await reader.send(again);
    const [{ message: second }] = await cook.claim();
    await cook.send({ id: second.id, status: 'completed', result: { large } });
    const done = (await reader.inbox()).find(({ correlation_id }) => correlation_id === again.msg_id);
    fits(done);
    assert.deepEqual(await inCard(done.payload.parley.output), { large });
    const brain = await parley.agent('brain', { dialect: 'agent-os' });
    await brain.send({
      id: '8b2f5a0e-0000-4000-8000-000000000001',
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: { agentId: 'brain' },
      to: { agentId: 'reader' },
      type: 'event',
      payload: { content: { large } },
    });
    const note = (await reader.inbox()).find(({ from }) => from === 'brain');
    fits(note);
    assert.deepEqual(await inCard(note.payload.parley.content), { large });
  });
});
