import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

describe('steps', () => {
  it('of a released task are handed to its next attempt, large ones too, and its question is answered once', async () => {
    const capability = `steps-${randomUUID()}`;
    const requester = await agent('requester', { dialect: 'native', capabilities: [] });
    const worker = await agent('worker', { dialect: 'native', capabilities: [capability] });
    const id = randomUUID();
    assert.equal((await requester.send({ kind: 'request', id, capability, input: [1] })).status, 202);
    const claim = async () => (await worker.call('POST', '/v1/claims', { wait: 20 })).body.tasks[0];
    assert.deepEqual((await claim()).message.input, [1]);
    const large = 'x'.repeat(10_000);
    for (const [name, value] of Object.entries({ small: { a: 1 }, large })) {
      const put = await worker.call('PUT', `/v1/tasks/${id}/steps/${name}`, { value });
      assert.deepEqual([put.status, put.body.duplicate], [200, false]);
    }
    assert.equal((await worker.send({ kind: 'question', taskId: id, prompt: 'Go on?', step: 'ask' })).status, 202);
    assert.equal((await requester.send({ kind: 'answer', taskId: id, answer: 'yes' })).status, 202);
    assert.equal((await worker.call('POST', `/v1/tasks/${id}/release`)).status, 200);
    const next = await claim();
    assert.deepEqual(next.steps, { small: { value: { a: 1 } }, large: { bytes: 10_002 }, ask: { value: 'yes' } });
    assert.equal((await worker.call('GET', `/v1/tasks/${id}/steps/large`)).body.value, large);
    const result = { kind: 'result', taskId: id, attempt: next.attempt, output: 'done' };
    assert.equal((await worker.send(result)).status, 202);
    await eventually(async () => {
      const { messages } = (await requester.call('GET', '/v1/inbox?wait=5')).body;
      assert.deepEqual(messages.map(({ kind }: { kind: string }) => kind).sort(), ['question', 'result']);
    }, 30_000);
  });
});
