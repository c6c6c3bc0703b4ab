import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { toShortId } from '../../shared/kernel/ids.ts';
import { about, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** The same inputs in every run; another seed makes others. */
const RUNS = { seed: 20_260_301, numRuns: 250 };

const known = new Map<string, number>(Object.entries(STATUS_BY_CODE));

const nasty = fc.constantFrom<unknown>(
  null,
  -0,
  1e308,
  -1,
  0.5,
  Number.MAX_SAFE_INTEGER,
  '',
  '__proto__',
  'constructor',
  '\u0000',
  'x'.repeat(5000),
  '2026-02-08T15:00:00Z',
  '550e8400-e29b-41d4-a716-446655440000',
  'requester',
  'worker',
  [],
  {},
  [[]],
);
const value = fc.oneof(
  nasty,
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
);

/** One way to spoil an object: a member dropped, replaced or added, at the top or one level down. */
const mutation = fc.record({
  inside: fc.boolean(),
  pick: fc.nat(),
  does: fc.constantFrom('drop', 'replace', 'add'),
  name: fc.oneof(fc.string(), fc.constantFrom('constructor', 'toString', 'attempt', 'messages', 'subject', 'msg_id')),
  value,
});
type Mutation = typeof mutation extends fc.Arbitrary<infer M> ? M : never;

const spoiled = (message: Record<string, unknown>, { inside, pick, does, name, value }: Mutation): object => {
  const { payload } = message;
  const target = { ...(inside && typeof payload === 'object' ? payload : message) } as Record<string, unknown>;
  const names = Object.keys(target);
  const chosen = names[pick % Math.max(1, names.length)] ?? name;
  if (does === 'drop') delete target[chosen];
  if (does === 'replace') target[chosen] = value;
  if (does === 'add' && name !== '__proto__') target[name] = value;
  return inside ? { ...message, payload: target } : target;
};

/** Posted by an agent that has hung up already, so that no wait is long. */
const poster =
  ({ parley }: TestParley, key: string) =>
  async (method: string, path: string, body: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    const request = {
      method,
      path,
      query: '',
      headers,
      readBody: createBodyReader(Buffer.from(body)),
      signal: AbortSignal.abort(),
    };
    const response = await parley.handle(request);
    assert.ok(typeof response.body === 'string');
    if (response.status < 300) return response.status;
    assert.equal(response.headers['content-type'], 'application/problem+json');
    const { code, status } = JSON.parse(response.body);
    assert.equal(known.get(code), response.status, `${code} for ${body.slice(0, 500)}`);
    assert.ok(response.status < 500, body.slice(0, 500));
    assert.equal(status, response.status);
    return response.status;
  };

const stillWorks = async ({ agent, logged }: TestParley): Promise<void> => {
  assert.deepEqual(
    logged.filter((line) => line.startsWith('error')),
    [],
  );
  const [asks, works] = [await agent('asks', { domains: ['comms'] }), await agent('works', { domains: ['comms'] })];
  const id = await asks.request({ payload: { task: 'comms.triage' } });
  assert.equal((await works.claim({ max: 10 })).filter(({ message }) => message.id === id).length, 1);
  assert.equal((await works.complete(id)).status, 202);
  assert.equal((await asks.inbox(20))[0].correlationId, id);
};

describe('arbitrary input', () => {
  it('answers any message with success or a known error code', async (t) => {
    const parley = await testParley(t);
    const post = poster(parley, (await parley.agent('requester')).key);
    const body = fc.oneof(
      value.map((any) => JSON.stringify(any)),
      fc.string(),
      fc.json(),
    );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        await post('POST', '/v1/messages', text);
        await post('POST', '/v1/messages', `{"messages":[${text}]}`);
      }),
      RUNS,
    );
    await stillWorks(parley);
  });

  it('answers an almost valid message with success or a known error code', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { domains: ['security'], role: 'coordinator', inboxLimit: 5 });
    const post = poster(parley, requester.key);
    const messages: ((task: string) => Record<string, unknown>)[] = [
      (task) => taskRequest('requester', { priority: 'low', ttl: 60, correlationId: task, to: 'requester' }),
      (task) => about('task.claimed', 'requester', task, { estimatedDurationSeconds: 1, message: 'mine' }),
      (task) => about('task.progress', 'requester', task, { percent: 1, subTasks: [{ id: 'a', status: 'b' }] }),
      (task) => about('task.result', 'requester', task, { status: 'completed', result: {} }),
      (task) => about('task.result', 'requester', task, { status: 'failed', error: 'timeout' }),
      (task) =>
        about('task.failed', 'requester', task, { error: 'model_error', retryable: true, retryAfterSeconds: 1 }),
      (task) =>
        about('heartbeat', 'requester', task, { status: 'healthy', capabilities: ['security.briefing'], uptime: 1 }),
      (task) =>
        tfRequest({ type: 'home.dinner', context: { parentTaskId: task }, routing: { delegationChain: ['a'] } }),
      (id) => ({ id, status: 'in_progress', metadata: { progress: 5 } }),
      (id) => ({ id, status: 'completed', result: 1, artifacts: [{ name: 'a', type: 'a/b', content: '' }] }),
      (id) => ({ id, status: 'failed', error: { code: 'TIMEOUT', message: '', details: {} } }),
      (id) => ({ id, status: 'input_required', input: { prompt: 'x', schema: { type: 'object' } } }),
      (id) => ({ id, input: 1 }),
      (task) =>
        mrMessage('task-delegation', 'requester', 'requester', { correlation_id: toShortId(task), requires_ack: true }),
      ...['status-update', 'result', 'command', 'heartbeat'].map(
        (type) => (task: string) =>
          mrMessage(type, 'requester', 'requester', { correlation_id: toShortId(task), priority: 7 }),
      ),
    ];
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...messages),
        fc.array(mutation, { maxLength: 3 }),
        async (message, mutations) => {
          let sent: object = message(await requester.request());
          for (const each of mutations) sent = spoiled({ ...sent }, each);
          seen.add(await post('POST', '/v1/messages', JSON.stringify(sent)));
          await post('POST', '/v1/messages', JSON.stringify(sent));
        },
      ),
      { ...RUNS, numRuns: 400 },
    );
    assert.ok(seen.has(202) && seen.has(400), 'some were taken and some were not');
    await stillWorks(parley);
  });

  const bodies: [method: string, path: string, valid: Record<string, unknown>, as: 'agent' | 'admin'][] = [
    ['POST', '/v1/claims', { max: 3, wait: 1, domains: ['security'], claimId: 'once', agent: 'requester' }, 'agent'],
    ['POST', '/v1/inbox/ack', { ids: ['a', 'b'], agent: 'requester' }, 'agent'],
    ['POST', '/v1/tasks/none/renew', { agent: 'requester', attempt: 1 }, 'agent'],
    ['POST', '/v1/tasks/none/input', { input: 1 }, 'agent'],
    ['POST', '/v1/tasks', { ...tfRequest({ type: 'home.dinner', id: 'x' }), retryPolicy: { maxAttempts: 2 } }, 'agent'],
    ['POST', '/v1/cards', { type: 'tool.call', content: { a: 1 } }, 'agent'],
    ['POST', '/v1/boxes', { kind: 'output', box_id: 'out', agent_id: 'requester', cards: [] }, 'agent'],
    ['POST', '/v1/boxes/none/append', { cards: [`card_${'x'.repeat(43)}`] }, 'agent'],
    ['PUT', '/v1/tools/x', { target_subject: 'cmd.tool.x.y', parameters: { type: 'object' }, options: {} }, 'admin'],
    [
      'POST',
      '/v1/turns',
      {
        agent_id: 'requester',
        correlation_id: 'c',
        mode: 'call',
        channel_id: 'public',
        recursion_depth: 1,
        payload: {},
      },
      'agent',
    ],
    ['POST', '/v1/turns/lease', { agent_id: 'requester', lease_id: 'l' }, 'agent'],
    ['POST', '/v1/turns/none/start', { turn_epoch: 1 }, 'agent'],
    ['POST', '/v1/turns/none/step', { turn_epoch: 1, step_id: 's', phase: 'p', metadata: {} }, 'agent'],
    [
      'POST',
      '/v1/turns/none/suspend',
      { turn_epoch: 1, waiting: [{ tool_call_id: 'c', step_id: 's' }], deadline_seconds: 1 },
      'agent',
    ],
    ['POST', '/v1/turns/none/deliver', { turn_epoch: 1, status: 'success', deliverable_card_id: 'c' }, 'agent'],
    ['POST', '/v1/turns/none/stop', { turn_epoch: 1, reason: 'r' }, 'agent'],
    [
      'POST',
      '/v1/turns/none/reports',
      {
        message_type: 'timeout',
        tool_call_id: 'c',
        agent_turn_id: 'none',
        turn_epoch: 1,
        agent_id: 'requester',
        after_execution: 'suspend',
        status: 'timeout',
        tool_result_card_id: 'c',
        recursion_depth: 0,
      },
      'agent',
    ],
    [
      'PUT',
      '/v1/agents/other-worker',
      {
        dialect: 'message-routing',
        capabilities: ['home.scene'],
        limits: {},
        manifest: {},
        inboxLimit: 5,
        signing: 'off',
      },
      'admin',
    ],
  ];
  for (const [method, path, valid, as] of bodies) {
    it(`answers any body to ${method} ${path} with success or a known error code`, async (t) => {
      const parley = await testParley(t);
      const requester = await parley.agent('requester');
      const post = poster(parley, as === 'agent' ? requester.key : 'an-admin-key-for-tests');
      const almost = fc.array(mutation, { maxLength: 2 }).map((mutations) => {
        let body: object = valid;
        for (const each of mutations) body = spoiled({ ...body }, { ...each, inside: false });
        return JSON.stringify(body);
      });
      const anything = fc.oneof(
        almost,
        value.map((any) => JSON.stringify(any)),
        fc.string(),
      );
      await fc.assert(
        fc.asyncProperty(anything, async (body) => {
          await post(method, path, body);
        }),
        RUNS,
      );
      await stillWorks(parley);
    });
  }

  it('answers any path and query with a known status', async (t) => {
    const parley = await testParley(t);
    const headers = { authorization: 'Bearer an-admin-key-for-tests' };
    const step = fc.oneof(fc.constantFrom('v1', 'tasks', 'agents', 'events', 'inbox', 'dead', 'key', ''), fc.string());
    const path = fc.array(step, { maxLength: 5 }).map((steps) => `/${steps.join('/')}`);
    const name = fc.constantFrom('limit', 'cursor', 'after', 'type', 'status', 'wait', 'agent', 'max', '__proto__');
    const pair = fc.tuple(name, fc.oneof(fc.string(), fc.nat().map(String)));
    const query = fc.array(pair, { maxLength: 3 }).map((pairs) => pairs.map((each) => each.join('=')).join('&'));
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', '');
    const target = fc.oneof(
      path,
      fc.constantFrom('/v1/tasks', '/v1/events', '/v1/agents', '/v1/dead-letters', '/v1/inbox'),
    );
    await fc.assert(
      fc.asyncProperty(method, target, query, async (verb, at, asked) => {
        const signal = AbortSignal.abort();
        const request = {
          method: verb,
          path: at,
          query: asked,
          headers,
          readBody: createBodyReader(Buffer.of()),
          signal,
        };
        const { status, body } = await parley.parley.handle(request);
        assert.ok(status < 500);
        if (status >= 400) assert.equal(known.get(JSON.parse(String(body)).code), status);
      }),
      RUNS,
    );
    await stillWorks(parley);
  });
});
