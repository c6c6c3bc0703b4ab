import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { callerWith, httpTransport, registered, type TestAgent } from '../support/api.ts';
import { installOutside } from '../support/install-outside.ts';
import { sendMcp, TASKS_EXTENSION } from '../support/mcp.ts';
import { isLong } from '../support/scale.ts';
import { startServer, tempDir } from '../support/server-process.ts';

/** Each line of clients has packages of the same names, so each stands in a folder of its own. */
const FIRST_LINE = ['@modelcontextprotocol/sdk@1.32.2'];
const TASKS_LINE = ['@modelcontextprotocol/client@2.4.0', '@modelcontextprotocol/ext-tasks@0.2.2'];

const scene = async (t: TestContext) => {
  const { address, adminKey } = await startServer(t, { dir: tempDir(t) });
  const transport = httpTransport(address);
  const admin = callerWith(transport, adminKey);
  const host = await registered(transport, admin, 'host', { dialect: 'native', capabilities: [] });
  const capability = `echo-${randomUUID()}`;
  const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
  const registration = { dialect: 'native', capabilities: [capability], schemas: { [capability]: { input } } };
  const worker = await registered(transport, admin, 'worker', registration);
  return { address, host, worker, capability };
};

const work = async (worker: TestAgent, answer: (input: { text: string }) => object): Promise<void> => {
  const [task] = await worker.claim({ wait: 20 });
  const { id: taskId, input } = task.message;
  const reply = await worker.send({ kind: 'result', taskId, attempt: task.attempt, output: answer(input) });
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
};

describe('MCP clients that are not in the lock file', { skip: !isLong, timeout: 600_000 }, () => {
  it('of the 1.x line call a capability as a tool, and read resources and prompts', async (t) => {
    const { load } = installOutside('mcp-client-1', FIRST_LINE);
    const { address, host, worker, capability } = await scene(t);
    const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client({ name: 'first-line', version: '1' }, { capabilities: {} });
    const requestInit = { headers: { authorization: `Bearer ${host.key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', address), { requestInit }));
    assert.equal(client.getServerVersion().name, 'parley');
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }: { name: string }) => name === capability));
    const working = work(worker, ({ text }) => ({ echoed: text }));
    const result = await client.callTool({ name: capability, arguments: { text: 'hi' } });
    await working;
    assert.deepEqual(result.structuredContent, { echoed: 'hi' });
    const { prompts } = await client.listPrompts();
    assert.ok(prompts.length > 0);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.ok(resourceTemplates.length > 0);
    const { resources } = await client.listResources();
    const read = await client.readResource({ uri: resources[0].uri });
    assert.ok(read.contents.length > 0);
    await assert.rejects(client.getPrompt({ name: 'no-such-prompt' }));
    await client.close();
  });

  it('with ext-tasks follow a durable task from its handle to its result', async (t) => {
    const { load } = installOutside('mcp-ext-tasks', TASKS_LINE);
    const { address, host, worker, capability } = await scene(t);
    const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
    const { createTaskSessionFromClient, resultFromTaskOutcome } = await load('@modelcontextprotocol/ext-tasks/client');
    const clientCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
    const clientInfo = { name: 'tasks', version: '1' };
    const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${host.key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', address), { requestInit }));
    const methods: string[] = [];
    const session = createTaskSessionFromClient(client, {
      endpointId: 'parley',
      v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities },
      rawDispatch: async (request: { method: string; params: Record<string, unknown> }) => {
        methods.push(request.method);
        const { _meta: _framing, ...params } = request.params;
        const { body } = await sendMcp(host, request.method, params, { capabilities: clientCapabilities });
        const { result, error } = body;
        return error ? { kind: 'error', error } : { kind: 'result', result };
      },
    });
    const execution = await session.callTool(capability, { text: 'hi' });
    const working = work(worker, ({ text }) => ({ echoed: text }));
    const { outcome } = await execution.settle();
    await working;
    assert.deepEqual(resultFromTaskOutcome(outcome).structuredContent, { echoed: 'hi' });
    assert.ok(methods.includes('tools/call') && methods.includes('tasks/get'), methods.join());
    await session.close();
    await client.close();
  });
});
