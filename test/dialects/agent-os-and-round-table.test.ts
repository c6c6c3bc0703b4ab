import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { agentOsAgent, content, evidence } from '../support/agent-os-agent.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  return { parley, brain: await agentOsAgent(parley, 'one-brain'), worker: await parley.agent('worker') };
};

describe('AgentOS request to a Round Table agent', () => {
  it('gives an AgentOS query as a task with all its fields, and returns the result as a response', async (t) => {
    const { brain, worker } = await start(t);
    const query = await brain.say('query', 'worker', { priority: 'high', ttl: 90 });
    const [{ message }] = await worker.claim();
    assert.deepEqual(
      [message.type, message.from, message.to, message.priority, message.ttl, message.payload.task],
      ['task.request', 'one-brain', 'worker', 'high', 90, 'agent-os.query'],
    );
    assert.deepEqual(message.payload.params, { question: 'How large was the harvest?' });
    assert.deepEqual(message.parley['agent-os'].context, query.context);
    assert.equal(`msg-${message.id}`, query.id);
    assert.equal((await worker.progress(message.id, { percent: 50, message: 'half' })).status, 202);
    const report = (await brain.call('GET', `/v1/tasks/${query.id}?dialect=agent-os`)).body;
    assert.deepEqual([report.type, report.replyTo, report.payload.content.percent], ['event', query.id, 50]);
    await worker.complete(message.id, { format: 'markdown', content: 'Large.' });
    const [response] = await brain.inbox();
    assert.deepEqual(
      [response.type, response.replyTo, response.from.agentId, response.to, response.context],
      ['response', query.id, 'worker', query.from, query.context],
    );
    assert.deepEqual(response.payload.content, { format: 'markdown', content: 'Large.' });
    assert.deepEqual([response.evidence.confidence, response.parley.envelope.version], [0, '1.0']);
    assert.equal(await brain.ack(response.id), 1);
  });

  it('wraps content that is not an object into one', async (t) => {
    const { brain, worker } = await start(t);
    await brain.say('query', 'worker', { payload: content('كم؟', { format: 'text', language: 'ar' }) });
    const [{ message }] = await worker.claim();
    assert.deepEqual(message.payload.params, { content: 'كم؟' });
  });

  it('says in which language a foreign answer is, and that errors of Parley are English', async (t) => {
    const { parley, brain, worker } = await start(t);
    const languages: unknown[] = [];
    for (const answer of ['Large.', 'ناتج كبير (GDP)', 17.24]) {
      await brain.say('query', 'worker', { payload: content('كم؟', { language: 'ar' }) });
      await worker.complete((await worker.claim())[0].message.id, { answer });
      const [{ id, payload }] = await brain.inbox(20);
      languages.push(payload.language);
      await brain.ack(id);
    }
    assert.deepEqual(languages, ['en', 'ar', 'ar']);
    await brain.say('query', 'worker', { ttl: 1, payload: content('كم؟', { language: 'ar' }) });
    parley.clock.advance(1001);
    await settled(parley);
    const [{ type, payload }] = await brain.inbox(20);
    assert.deepEqual([type, payload.language], ['error', 'en']);
  });

  const codes: [said: string, read: string, recoverable: boolean][] = [
    ['skill_missing', 'VALIDATION_FAILED', false],
    ['invalid_params', 'VALIDATION_FAILED', false],
    ['rate_limited', 'SOURCE_ERROR', true],
    ['timeout', 'TIMEOUT', true],
    ['model_error', 'SOURCE_ERROR', true],
    ['internal_error', 'SOURCE_ERROR', true],
  ];
  for (const [said, read, recoverable] of codes) {
    it(`returns the Round Table failure ${said} as ${read} with its original code`, async (t) => {
      const { parley, brain, worker } = await start(t);
      const query = await brain.say('query', 'worker', { ttl: 600_000 });
      for (let attempt = 0; attempt < 3; attempt++) {
        const [task] = await worker.claim();
        if (task) await worker.fail(task.message.id, { error: said, message: 'it broke' });
        parley.clock.advance(60_000);
        await settled(parley);
      }
      assert.equal((await brain.task(query.id)).state, 'failed');
      const [error] = await brain.inbox();
      assert.deepEqual([error.type, error.replyTo], ['error', query.id]);
      const { code, message, recoverable: can, parley: kept } = error.payload.content;
      assert.deepEqual([code, message, can, kept.code], [read, 'it broke', recoverable, said]);
    });
  }
});

describe('Round Table request to an AgentOS agent', () => {
  it('gives a Round Table task as a command, and returns the response as a result with its evidence', async (t) => {
    const { parley, brain, worker } = await start(t);
    const requester = await parley.agent('requester');
    const id = await requester.request({
      to: 'one-brain',
      priority: 'critical',
      ttl: 90,
      payload: { responseFormat: 'markdown' },
    });
    const [{ message }] = await brain.claim();
    assert.deepEqual(
      [message.id, message.type, message.from, message.to.agentId, message.priority, message.ttl],
      [id, 'command', { agentId: 'requester', instanceId: 'requester' }, 'one-brain', 'high', 90],
    );
    assert.deepEqual(message.payload.content, { command: 'security.briefing', parameters: { scope: 'daily' } });
    assert.equal(message.parley.priority, 'critical');
    assert.equal(message.parley.payload.responseFormat, 'markdown');
    await brain.say('event', 'requester', { replyTo: id, payload: content({ percent: 10 }) });
    assert.equal((await requester.task(id)).progress.percent, 10);
    assert.equal((await brain.respond('requester', id)).status, 202);
    const [result] = await requester.inbox();
    assert.deepEqual([result.type, result.correlationId, result.from], ['task.result', id, 'one-brain']);
    assert.deepEqual(result.payload, { status: 'completed', result: { answer: 'Large.' } });
    assert.deepEqual(result.parley['agent-os'].evidence, evidence());
    assert.deepEqual(await worker.claim(), []);
  });

  const codes: [said: string, read: string, retryable: boolean][] = [
    ['DATA_UNAVAILABLE', 'model_error', true],
    ['SOURCE_ERROR', 'model_error', true],
    ['TIMEOUT', 'timeout', true],
    ['VALIDATION_FAILED', 'invalid_params', false],
    ['FABRICATION_DETECTED', 'internal_error', false],
    ['SAFETY_VIOLATION', 'internal_error', false],
    ['UNAUTHORIZED', 'skill_missing', false],
  ];
  for (const [said, read, retryable] of codes) {
    it(`returns the AgentOS error ${said} as ${read} with its original code`, async (t) => {
      const { parley, brain } = await start(t);
      const requester = await parley.agent('requester');
      const id = await requester.request({ to: 'one-brain', ttl: 600_000 });
      for (let attempt = 0; attempt < 3; attempt++) {
        const [task] = await brain.claim();
        if (task) await brain.err('requester', { code: said, message: 'it broke', suggestion: 'ask' }, { replyTo: id });
        parley.clock.advance(60_000);
        await settled(parley);
      }
      const [failure] = await requester.inbox();
      const { error, message, retryable: can, parley: kept } = failure.payload;
      assert.deepEqual([error, message, can, kept.code], [read, 'it broke', retryable, said]);
      assert.equal(failure.parley['agent-os'].content.suggestion, 'ask');
    });
  }
});
