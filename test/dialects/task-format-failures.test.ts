import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const FINAL = [
  'INVALID_INPUT',
  'MISSING_REQUIRED_FIELD',
  'INVALID_FIELD_TYPE',
  'INVALID_FIELD_VALUE',
  'AGENT_NOT_FOUND',
  'CAPABILITY_NOT_FOUND',
  'TASK_GRAPH_CYCLE',
  'KNOWLEDGE_NOT_FOUND',
];
const SYSTEM = [
  'AGENT_UNAVAILABLE',
  'AGENT_BUSY',
  'MCP_NOT_CONNECTED',
  'MCP_AUTH_FAILED',
  'MCP_RATE_LIMITED',
  'MCP_ERROR',
  'TIMEOUT',
  'INTERNAL_ERROR',
  'RATE_LIMITED',
];

/** The cook fails every attempt. Returns the delays between the attempts, in milliseconds. */
const delaysOf = async (parley: TestParley, error: object, overrides: Record<string, unknown> = {}) => {
  const { orchestrator, cook } = await kitchen(parley);
  const { id } = tfRequest();
  await orchestrator.send(tfRequest({ id, ...overrides }));
  const delays: number[] = [];
  for (let attempt = 0; ; attempt++) {
    assert.equal((await cook.claim()).length, 1);
    const response = {
      id,
      status: 'failed',
      error: { message: 'broken', ...error },
      metadata: { retryCount: attempt },
    };
    assert.equal((await cook.send(response)).status, 202);
    const { retryAt } = await orchestrator.task(id);
    if (retryAt === undefined) break;
    const delay = Date.parse(retryAt) - parley.clock.now();
    parley.clock.advance(delay - 1);
    await settled(parley);
    assert.deepEqual(await cook.claim(), []);
    parley.clock.advance(1);
    await settled(parley);
    delays.push(delay);
  }
  await settled(parley);
  const [outcome] = await orchestrator.inbox(20);
  return { delays, outcome };
};

describe('Task Format error', () => {
  for (const code of FINAL) {
    it(`fails a task at once with ${code}, and tells the requester the holder's word that it is recoverable`, async (t) => {
      const { delays, outcome } = await delaysOf(await testParley(t), { code, recoverable: true });
      assert.deepEqual(delays, []);
      assert.deepEqual([outcome.status, outcome.error.code, outcome.error.recoverable], ['failed', code, true]);
    });
  }

  for (const code of SYSTEM) {
    it(`retries a task three times after 1, 2 and 4 seconds with ${code}`, async (t) => {
      const { delays, outcome } = await delaysOf(await testParley(t), { code });
      assert.deepEqual(delays, [1000, 2000, 4000]);
      assert.deepEqual([outcome.error.code, outcome.metadata.retryCount], [code, 3]);
    });
  }

  for (const code of ['COORDINATION_FAILED', 'DELEGATION_FAILED']) {
    it(`retries a task twice after 1 and 2 seconds with ${code}`, async (t) => {
      assert.deepEqual((await delaysOf(await testParley(t), { code })).delays, [1000, 2000]);
    });
  }

  it('fails a task at once if its agent calls the error unrecoverable', async (t) => {
    const { delays, outcome } = await delaysOf(await testParley(t), { code: 'MCP_ERROR', recoverable: false });
    assert.deepEqual(delays, []);
    assert.equal(outcome.error.recoverable, false);
  });

  it('retries a task with an unknown code if its agent calls the error recoverable', async (t) => {
    const { delays } = await delaysOf(await testParley(t), { code: 'OVEN_COLD', recoverable: true });
    assert.deepEqual(delays, [1000, 2000, 4000]);
    const unsaid = await delaysOf(await testParley(t), { code: 'OVEN_COLD' });
    assert.deepEqual(unsaid.delays, []);
  });

  it('keeps the code of an error for Task Format readers, although another dialect has the same code', async (t) => {
    for (const code of ['SOURCE_ERROR', 'model_error']) {
      const { outcome } = await delaysOf(await testParley(t), { code });
      assert.deepEqual([outcome.error.code, outcome.metadata.parley.errorCode], [code, undefined]);
    }
  });

  it('delivers every field of an error to the requester', async (t) => {
    const error = {
      code: 'INVALID_INPUT',
      message: 'no url',
      details: { field: 'url' },
      hint: 'https',
      recoverable: false,
    };
    const { outcome } = await delaysOf(await testParley(t), error);
    assert.deepEqual(outcome.error, error);
  });
});

describe('Task Format retry policy', () => {
  const policies: [policy: object, delays: number[]][] = [
    [{ maxAttempts: 1 }, []],
    [{ maxAttempts: 3, backoffType: 'fixed', initialDelay: 200 }, [200, 200]],
    [{ maxAttempts: 4, backoffType: 'linear', initialDelay: 100 }, [100, 200, 300]],
    [{ maxAttempts: 6, backoffType: 'exponential', initialDelay: 1500 }, [1500, 3000, 6000, 12_000, 24_000]],
    [{ initialDelay: 300_000 }, [300_000, 300_000, 300_000]],
  ];
  for (const [retryPolicy, delays] of policies) {
    it(`follows a retry policy instead of the rule of the error: ${JSON.stringify(retryPolicy)}`, async (t) => {
      assert.deepEqual((await delaysOf(await testParley(t), { code: 'MCP_ERROR' }, { retryPolicy })).delays, delays);
    });
  }

  it('allows more attempts by a retry policy than by the rule of the error', async (t) => {
    const retryPolicy = { maxAttempts: 4 };
    const { delays } = await delaysOf(await testParley(t), { code: 'DELEGATION_FAILED' }, { retryPolicy });
    assert.deepEqual(delays, [1000, 2000, 3000]);
  });

  it('retries no final error, whatever the retry policy', async (t) => {
    const retryPolicy = { maxAttempts: 5 };
    assert.deepEqual((await delaysOf(await testParley(t), { code: 'INVALID_INPUT' }, { retryPolicy })).delays, []);
  });

  it('allows the attempts of a retry policy again after a manual retry', async (t) => {
    const parley = await testParley(t);
    const { outcome } = await delaysOf(parley, { code: 'MCP_ERROR' }, { retryPolicy: { maxAttempts: 2 } });
    const retried = await parley.admin.call('POST', `/v1/tasks/${outcome.id}/retry`);
    assert.deepEqual([retried.body.attempt, retried.body.maxAttempts], [2, 4]);
  });
});
