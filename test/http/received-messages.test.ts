import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { toCanonicalId } from '../../shared/kernel/ids.ts';
import { mrMessage } from '../support/message-routing.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { lines, logged, start } from './logged.ts';
import { settled } from './refusal.ts';

const received = async (parley: TestParley, agent: string): Promise<string[]> => {
  await settled(parley);
  const entries = await logged(parley.admin, `?agent=${agent}&limit=200`);
  return entries
    .filter(({ direction }) => direction === 'received')
    .map(({ type, fromAgent, status }) => `${type} ${fromAgent} ${status}`)
    .reverse();
};

describe('received messages in the audit log', () => {
  it('logs the timeout of a task that nobody claimed and of one whose holder was lost', async (t) => {
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
      [expiry.id, toCanonicalId(expiry.replyTo), 30_000],
    );
    // What it never saw is no message that it received with success.
    assert.deepEqual(await received(parley, 'scribe'), ['query one-brain timeout', 'query one-brain success']);
  });

  it('logs a cancellation for each notified agent except the one that cancelled', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const [own, other] = [await brain.say('query', 'scribe'), await brain.say('query', 'scribe')];
    assert.equal((await scribe.claim({ max: 2 })).length, 2);
    assert.equal((await brain.call('POST', `/v1/tasks/${own.id}/cancel`)).status, 200);
    assert.equal((await parley.admin.call('POST', `/v1/tasks/${other.id}/cancel`)).status, 200);
    const requests = ['query one-brain success', 'query one-brain success'];
    assert.deepEqual(await received(parley, 'scribe'), [...requests, 'error parley error', 'error parley error']);
    assert.deepEqual(await received(parley, 'one-brain'), ['error parley error']);
  });

  it('logs progress, questions, answers, results and failures from agents whose dialect is not logged', async (t) => {
    const { parley, brain } = await start(t);
    const cook = await parley.agent('cook', taskFormat);
    const [good, bad] = [await brain.say('command', 'cook'), await brain.say('command', 'cook')];
    assert.equal((await cook.claim({ max: 2 })).length, 2);
    const says = async (message: object) => assert.equal((await cook.send(message)).status, 202);
    const [id, failing] = [toCanonicalId(good.id), toCanonicalId(bad.id)];
    await says({ id, status: 'in_progress', metadata: { progress: 10 } });
    await says({ id, status: 'input_required', input: { prompt: 'Why?' } });
    assert.equal((await brain.call('POST', `/v1/tasks/${id}/input`, { input: 'because' })).status, 202);
    await says({ id, status: 'completed', result: 'done' });
    await says({ id: failing, status: 'failed', error: { code: 'INVALID_INPUT', message: 'burnt' } });
    assert.deepEqual(await received(parley, 'one-brain'), [
      'event cook success',
      'query cook success',
      'response cook success',
      'error cook error',
    ]);
    const command = 'command one-brain success';
    assert.deepEqual(await received(parley, 'cook'), [command, command, 'response one-brain success']);
    assert.deepEqual(
      (await logged(parley.admin, '?agent=cook')).filter(({ direction }) => direction === 'sent'),
      [],
    );
  });

  it('logs requests, direct messages and the end of a batch from any dialect', async (t) => {
    const { parley, brain } = await start(t);
    const requester = await parley.agent('requester');
    const batch = { tasks: [brain.message('query', 'requester')] };
    assert.equal((await brain.call('POST', '/v1/batches', batch)).status, 202);
    const [asked] = await requester.claim();
    await requester.complete(asked.message.id);
    await settled(parley);
    const boss = await parley.agent('boss', { dialect: 'message-routing', role: 'coordinator' });
    assert.equal(
      (await boss.send(mrMessage('command', 'boss', 'one-brain', { payload: { action: 'resume' } }))).status,
      202,
    );
    const inbox = await brain.inbox();
    await brain.ack(...inbox.map(({ id }) => id));
    await requester.request({ to: 'one-brain', payload: { task: 'intel.news' } });
    await brain.claim();
    assert.deepEqual(await received(parley, 'one-brain'), [
      'response requester success',
      'event parley success',
      'event boss success',
      'command requester success',
    ]);
    assert.deepEqual(lines(await logged(parley.admin, '?agent=boss')), []);
  });

  it('logs a question once as sent and once as received when its dialect is logged', async (t) => {
    const parley = await testParley(t, { config: { auditLog: { 'task-format': true } } });
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
