import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startServer, tempDir } from '../support/server-process.ts';
import { AGENT_OS, MESSAGE_ROUTING, ROUND_TABLE, TASK_FORMAT, TASK_FORMAT_RESPONSE } from './document-messages.ts';

const owner = { after };
const server = await startServer(owner, { dir: tempDir(owner) });

const accept = async (from: TestAgent, message: object): Promise<{ notices?: string[]; [field: string]: unknown }> => {
  const { status, body } = await from.send(message);
  assert.equal(status, 202, `${JSON.stringify(message)} ${JSON.stringify(body)}`);
  return body;
};

/** What Parley adds is no fault; what it leaves out or changes is one. */
const assertSame = (read: object | undefined, written: object): void => assert.deepEqual({ ...read, ...written }, read);

const assertDelivered = (reader: TestAgent, written: object, id: 'id' | 'msg_id' = 'id'): Promise<void> =>
  eventually(async () => {
    const wanted: unknown = Reflect.get(written, id);
    assertSame(
      (await reader.inbox()).find((message) => message[id] === wanted),
      written,
    );
  });

describe('over HTTP, the examples of the document of', { concurrency: true }, () => {
  it('Round Table go through, but for a schematic envelope and a failure after the result', async () => {
    const { envelope, request, claimed, progress, result, failed, heartbeat } = ROUND_TABLE;
    const tim = await server.agent('tim', {});
    const galahad = await server.agent('galahad', { capabilities: heartbeat.payload.capabilities });
    const schematic = await tim.send(envelope);
    assertRefused(schematic, 400, 'invalid_message');
    assert.deepEqual(
      schematic.body.issues.map(({ path }: { path: string }) => path),
      ['correlationId', 'payload.task'],
    );
    await accept(tim, request);
    const [task] = await galahad.claim({ wait: 10 });
    assertSame(task.message, request);
    for (const message of [claimed, progress, heartbeat, result]) await accept(galahad, message);
    await assertDelivered(tim, result);
    assertRefused(await galahad.send(failed), 409, 'task_ended');
    const { progress: shown, result: output } = await tim.task(request.id);
    assert.deepEqual([shown.percent, output], [progress.payload.percent, result.payload.result]);
    const { health } = (await tim.call('GET', '/v1/agents/galahad')).body;
    const { status, uptime, activeTaskCount, model, version, capabilities } = health;
    assert.deepEqual({ status, uptime, activeTaskCount, model, version, capabilities }, heartbeat.payload);
  });

  it('AgentOS go through', async () => {
    const { query, response, error, gap } = AGENT_OS;
    const ids = [query, response, error, gap].flatMap(({ from, to }) => [from.agentId, to.agentId]);
    const agents = new Map<string, TestAgent>();
    for (const id of new Set(ids)) agents.set(id, await server.agent(id, { dialect: 'agent-os' }));
    const agent = (id: string): TestAgent => agents.get(id) ?? assert.fail(id);
    const [brain, analyst] = [agent('one-brain'), agent('macro-analyst')];
    await accept(brain, query);
    const [task] = await analyst.claim({ wait: 10, instance: query.to.instanceId });
    assertSame(task.message, query);
    await accept(analyst, response);
    await assertDelivered(brain, response);
    await accept(agent(error.from.agentId), error);
    await assertDelivered(brain, error);
    await accept(agent(gap.from.agentId), gap);
    await assertDelivered(agent(gap.to.agentId), gap);
    const { gaps } = (await agent(gap.to.agentId).call('GET', '/v1/gaps')).body;
    assert.equal(gaps.length, 1);
  });

  it('Task Format go through, but for a response with `[...]`, which is no JSON', async () => {
    const { errorBlock, artifactsBlock } = TASK_FORMAT;
    // Round Table's document has the same id.
    const request = { ...TASK_FORMAT.request, id: '650e8400-e29b-41d4-a716-446655440000' };
    const [orchestrator, cook] = [
      await server.agent('orchestrator', { dialect: 'task-format' }),
      await server.agent('cooking-agent', { dialect: 'task-format', capabilities: [request.type] }),
    ];
    assert.equal((await accept(orchestrator, request)).notices, undefined);
    const [{ message }] = await cook.claim({ wait: 10 });
    for (const block of ['payload', 'context', 'routing', 'observability'] as const)
      assertSame(message[block], request[block]);
    assertRefused(await cook.call('POST', '/v1/messages', TASK_FORMAT_RESPONSE), 400, 'invalid_json');
    const response = { ...JSON.parse(TASK_FORMAT_RESPONSE.replaceAll('[...]', '["..."]')), id: request.id };
    await accept(cook, { ...response, ...artifactsBlock });
    await eventually(async () => {
      const [read] = await orchestrator.inbox();
      assertSame(read?.metadata, response.metadata);
      assertSame(read, { id: response.id, status: 'completed', result: response.result, ...artifactsBlock });
    });
    const again = { ...request, id: '650e8400-e29b-41d4-a716-446655440001' };
    await accept(orchestrator, again);
    await cook.claim({ wait: 10 });
    await accept(cook, { id: again.id, status: 'failed', ...errorBlock });
    assertSame((await orchestrator.task(again.id)).lastError, errorBlock.error);
  });

  it('Message Routing go through, and agents find them by reading their inboxes', async () => {
    const { statusUpdate, delegation, result, command, heartbeat, fullDelegation, fullResult } = MESSAGE_ROUTING;
    const messages = [statusUpdate, delegation, result, command, heartbeat, fullDelegation, fullResult];
    const agents = new Map<string, TestAgent>();
    for (const id of new Set(messages.flatMap(({ from, to }) => [from, to]))) {
      const role = id === command.from ? 'coordinator' : undefined;
      agents.set(id, await server.agent(id, { dialect: 'message-routing', role }));
    }
    const agent = (id: string): TestAgent => agents.get(id) ?? assert.fail(id);
    for (const message of messages) {
      const { notices, ignoredDependencies } = await accept(agent(message.from), message);
      // It answers a task of two other agents; and a status update is nothing to wait for.
      assert.equal(notices?.length, message === result ? 1 : undefined);
      assert.deepEqual(ignoredDependencies, message === delegation ? [statusUpdate.msg_id] : undefined);
      await assertDelivered(agent(message.to), message, 'msg_id');
    }
    const task = await agent(fullDelegation.from).task(fullDelegation.msg_id);
    assert.deepEqual([task.status, task.result], ['completed', fullResult.payload]);
    const { paused } = (await agent(command.from).call('GET', `/v1/agents/${command.to}`)).body;
    assert.equal(paused.reason, command.payload.parameters.reason);
  });
});
