import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { connectMcp, sendMcp, TASKS_EXTENSION } from '../support/mcp.ts';
import { deployment } from './deployment.ts';

const { address, agent } = await deployment();
const FOLLOWS = { capabilities: { extensions: { [TASKS_EXTENSION]: {} } } };

const pair = async (): Promise<{ host: TestAgent; worker: TestAgent; capability: string }> => {
  const capability = `mcp-${randomUUID()}`;
  const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const registration = { dialect: 'native', capabilities: [capability], schemas: { [capability]: { input } } };
  return {
    capability,
    host: await agent('host', { dialect: 'native', capabilities: [] }),
    worker: await agent('worker', registration),
  };
};

const claimOne = async (worker: TestAgent): Promise<{ id: string; attempt: number; input: { text: string } }> => {
  for (;;) {
    const { tasks } = (await worker.call('POST', '/v1/claims', { wait: 15 })).body;
    if (tasks.length > 0) return { ...tasks[0].message, attempt: tasks[0].attempt };
  }
};

const complete = async (worker: TestAgent, output: unknown): Promise<string> => {
  const { id, attempt } = await claimOne(worker);
  const reply = await worker.send({ kind: 'result', taskId: id, attempt, output });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return id;
};

const textOf = (result: { content?: unknown }): string => {
  const [block] = result.content as { text: string }[];
  return block?.text ?? '';
};

describe('an MCP client', () => {
  for (const mode of ['auto', 'legacy'] as const) {
    it(`of the ${mode === 'auto' ? 'newest' : 'earlier'} era calls a capability as a tool`, async (t) => {
      const { host, worker, capability } = await pair();
      const client = await connectMcp(t, address, host.key, { mode });
      const { tools } = await client.listTools();
      assert.deepEqual(tools.find(({ name }) => name === capability)?.inputSchema.required, ['text']);
      const working = complete(worker, { echoed: 'hi' });
      const result = await client.callTool({ name: capability, arguments: { text: 'hi' } });
      await working;
      assert.deepEqual(result.structuredContent, { echoed: 'hi' });
      const wrong = await client.callTool({ name: capability, arguments: { text: 5 } });
      assert.equal(wrong.isError, true);
      assert.match(textOf(wrong), /^invalid_arguments: input\.text /);
    });
  }

  it('is asked what the agent asks, in a form, and the task goes on with the answer', async (t) => {
    const { host, worker, capability } = await pair();
    const asked: string[] = [];
    const client = await connectMcp(t, address, host.key, {
      onElicit: (message) => {
        asked.push(message);
        return { colour: 'blue' };
      },
    });
    const working = (async () => {
      const { id, attempt } = await claimOne(worker);
      const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };
      await worker.send({
        kind: 'question',
        taskId: id,
        attempt,
        prompt: 'Which?',
        schema,
        step: 'ask',
        requeue: true,
      });
      const [task] = await worker.claim({ wait: 20 });
      const output = task.steps.ask.value;
      await worker.send({ kind: 'result', taskId: id, attempt: task.attempt, output });
    })();
    const result = await client.callTool({ name: capability, arguments: { text: 'sky' } });
    await working;
    assert.deepEqual([asked, result.structuredContent], [['Which?'], { colour: 'blue' }]);
  });

  it('that follows tasks gets a handle, answers, and reads the result by it', async () => {
    const { host, worker, capability } = await pair();
    const call = sendMcp(host, 'tools/call', { name: capability, arguments: { text: 'x' } }, FOLLOWS);
    const { id, attempt } = await claimOne(worker);
    const created = (await call).body.result;
    assert.deepEqual([created.resultType, created.taskId, created.status], ['task', id, 'working']);
    await worker.send({ kind: 'question', taskId: id, attempt, prompt: 'Sure?', schema: { type: 'boolean' } });
    const get = async (by = host, taskId = id) => (await sendMcp(by, 'tasks/get', { taskId }, FOLLOWS)).body;
    const key = await eventually(async () => {
      const { status, inputRequests } = (await get()).result;
      assert.equal(status, 'input_required');
      return Object.keys(inputRequests)[0] ?? assert.fail();
    });
    const answer = { action: 'accept', content: { answer: true } };
    for (const inputResponses of [{ [`${key}0`]: answer }, { [key]: answer }, { [key]: answer }]) {
      const updated = await sendMcp(host, 'tasks/update', { taskId: id, inputResponses }, FOLLOWS);
      assert.equal(updated.body.result?.resultType, 'complete', JSON.stringify(updated.body));
    }
    await worker.send({ kind: 'result', taskId: id, attempt, output: 'done' });
    await eventually(async () => assert.equal((await get()).result.status, 'completed'));
    assert.deepEqual((await get()).result.result.content, [{ type: 'text', text: 'done' }]);
    const cancelled = await sendMcp(host, 'tasks/cancel', { taskId: id }, FOLLOWS);
    assert.equal(cancelled.body.result.resultType, 'complete');
    assert.equal((await get()).result.status, 'completed');
    const stranger = await agent('stranger', { dialect: 'native', capabilities: [] });
    const missing = await get(stranger, 'no-such-task');
    const foreign = await get(stranger);
    assert.deepEqual(foreign.error, { ...missing.error, message: missing.error.message.replace('no-such-task', id) });
  });

  it('that leaves in the middle of a call leaves its task running', async (t) => {
    const { host, worker, capability } = await pair();
    const client = await connectMcp(t, address, host.key);
    const leaving = new AbortController();
    const call = client.callTool({ name: capability, arguments: { text: 'x' } }, { signal: leaving.signal });
    const { id, attempt } = await claimOne(worker);
    leaving.abort();
    await assert.rejects(call);
    assert.equal((await worker.send({ kind: 'result', taskId: id, attempt, output: 1 })).status, 202);
    const again = await connectMcp(t, address, host.key);
    const { structuredContent } = await again.callTool({ name: 'parley_wait', arguments: { id } });
    const { state, result } = structuredContent as Record<string, unknown>;
    assert.deepEqual([state, result], ['completed', 1]);
  });

  it('submits a task once under one key, and another agent with the same key has a task of its own', async (t) => {
    const { host, worker, capability } = await pair();
    const other = await agent('other', { dialect: 'native', capabilities: [] });
    const submit = async (key: string): Promise<unknown> => {
      const client = await connectMcp(t, address, key);
      const args = { capability, input: { text: 'x' }, idempotencyKey: 'first' };
      const { structuredContent } = await client.callTool({ name: 'parley_submit', arguments: args });
      return (structuredContent as { id?: unknown }).id;
    };
    const [first, again, foreign] = [await submit(host.key), await submit(host.key), await submit(other.key)];
    assert.equal(first, again);
    assert.notEqual(first, foreign);
    assert.deepEqual([await complete(worker, 1), await complete(worker, 2)].sort(), [first, foreign].sort());
  });

  it('is a worker by tools alone', async (t) => {
    const { host, worker, capability } = await pair();
    const id = randomUUID();
    assert.equal((await host.send({ kind: 'request', id, capability, input: { text: 'x' } })).status, 202);
    const client = await connectMcp(t, address, worker.key);
    const use = async (name: string, args: object): Promise<Record<string, unknown>> => {
      const result = await client.callTool({ name, arguments: { ...args } });
      assert.notEqual(result.isError, true, textOf(result));
      return result.structuredContent as Record<string, unknown>;
    };
    const [task] = (await use('parley_claim', { wait: 20 })).tasks as { id: string; attempt: number }[];
    assert.equal(task?.id, id);
    const { attempt } = task ?? assert.fail();
    await use('parley_report', { id, attempt, progress: { percent: 50 } });
    await use('parley_renew', { id, attempt });
    await use('parley_report', { id, attempt, result: { done: true } });
    assert.deepEqual((await host.task(id, 20)).result, { done: true });
    const both = await client.callTool({ name: 'parley_report', arguments: { id, result: 1, progress: {} } });
    assert.match(textOf(both), /exactly one/);
  });

  it('sees the capabilities of one agent alone at its own address', async (t) => {
    const { host, worker, capability } = await pair();
    const client = await connectMcp(t, address, host.key, { path: `/mcp/${worker.id}` });
    const names = (await client.listTools()).tools.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => !name.startsWith('parley_')),
      [capability],
    );
    assert.ok(!names.includes('parley_claim'));
  });
});
