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

/** The cook fails whenever it gets the task; how long it was kept from it in between, in milliseconds. */
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

describe('an error of the task format', () => {
  for (const code of FINAL) {
    it(`is final: ${code}`, async (t) => {
      const { delays, outcome } = await delaysOf(await testParley(t), { code, recoverable: true });
      assert.deepEqual(delays, []);
      assert.deepEqual([outcome.status, outcome.error.code, outcome.error.recoverable], ['failed', code, false]);
    });
  }

  for (const code of SYSTEM) {
    it(`is tried three times again, after 1, 2 and 4 seconds: ${code}`, async (t) => {
      const { delays, outcome } = await delaysOf(await testParley(t), { code });
      assert.deepEqual(delays, [1000, 2000, 4000]);
      assert.deepEqual([outcome.error.code, outcome.metadata.retryCount], [code, 3]);
    });
  }

  for (const code of ['COORDINATION_FAILED', 'DELEGATION_FAILED']) {
    it(`is tried twice again, after 1 and 2 seconds: ${code}`, async (t) => {
      assert.deepEqual((await delaysOf(await testParley(t), { code })).delays, [1000, 2000]);
    });
  }

  it('is final where the agent says that it is not recoverable', async (t) => {
    const { delays, outcome } = await delaysOf(await testParley(t), { code: 'MCP_ERROR', recoverable: false });
    assert.deepEqual(delays, []);
    assert.equal(outcome.error.recoverable, false);
  });

  it('that no table knows is tried again if the agent says that it is recoverable', async (t) => {
    const { delays } = await delaysOf(await testParley(t), { code: 'OVEN_COLD', recoverable: true });
    assert.deepEqual(delays, [1000, 2000, 4000]);
    const unsaid = await delaysOf(await testParley(t), { code: 'OVEN_COLD' });
    assert.deepEqual(unsaid.delays, []);
  });

  it('of its own name stays what it is for readers of the dialect, though another dialect has that name too', async (t) => {
    for (const code of ['SOURCE_ERROR', 'model_error']) {
      const { outcome } = await delaysOf(await testParley(t), { code });
      assert.deepEqual([outcome.error.code, outcome.metadata.parley.errorCode], [code, undefined]);
    }
  });

  it('reaches the requester with all that it says', async (t) => {
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

describe('a retry policy', () => {
  const policies: [policy: object, delays: number[]][] = [
    [{ maxAttempts: 1 }, []],
    [{ maxAttempts: 3, backoffType: 'fixed', initialDelay: 200 }, [200, 200]],
    [{ maxAttempts: 4, backoffType: 'linear', initialDelay: 100 }, [100, 200, 300]],
    [{ maxAttempts: 6, backoffType: 'exponential', initialDelay: 1500 }, [1500, 3000, 6000, 12_000, 24_000]],
    [{ initialDelay: 300_000 }, [300_000, 300_000, 300_000]],
  ];
  for (const [retryPolicy, delays] of policies) {
    it(`is followed instead of the error's own rule: ${JSON.stringify(retryPolicy)}`, async (t) => {
      assert.deepEqual((await delaysOf(await testParley(t), { code: 'MCP_ERROR' }, { retryPolicy })).delays, delays);
    });
  }

  it('allows more attempts than the error would', async (t) => {
    const retryPolicy = { maxAttempts: 4 };
    const { delays } = await delaysOf(await testParley(t), { code: 'DELEGATION_FAILED' }, { retryPolicy });
    assert.deepEqual(delays, [1000, 2000, 3000]);
  });

  it('retries nothing that is final', async (t) => {
    const retryPolicy = { maxAttempts: 5 };
    assert.deepEqual((await delaysOf(await testParley(t), { code: 'INVALID_INPUT' }, { retryPolicy })).delays, []);
  });

  it('counts anew when the task is run again by hand', async (t) => {
    const parley = await testParley(t);
    const { outcome } = await delaysOf(parley, { code: 'MCP_ERROR' }, { retryPolicy: { maxAttempts: 2 } });
    const retried = await parley.admin.call('POST', `/v1/tasks/${outcome.id}/retry`);
    assert.deepEqual([retried.body.attempt, retried.body.maxAttempts], [2, 4]);
  });
});
