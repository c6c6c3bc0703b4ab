import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { callerWith, type TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { sendMcp, TASKS_EXTENSION } from '../support/mcp.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const NAME = 'summarize';
const FOLLOWS = { capabilities: { extensions: { [TASKS_EXTENSION]: {} } } };

const begun = async (t: { after(cleanUp: () => unknown): void }) => {
  const parley = await testParley(t);
  const host = await parley.agent('host', { dialect: 'native', capabilities: [] });
  const worker = await parley.agent('worker', { dialect: 'native', capabilities: [NAME] });
  return { parley, host, worker };
};

const listTasks = async ({ admin }: TestParley): Promise<{ id: string; state: string }[]> =>
  (await admin.call('GET', '/v1/tasks')).body.tasks;

const WRONG: Record<
  string,
  [status: number, code: number, ...(Parameters<typeof sendMcp> extends [unknown, ...infer R] ? R : never)]
> = {
  'an unknown method': [404, -32601, 'tools/destroy'],
  'a method of the earlier era': [404, -32601, 'ping'],
  'a version that is not there': [400, -32022, 'tools/list', {}, { version: '1999-01-01' }],
  'a header for another method': [400, -32020, 'tools/list', {}, { headers: { 'mcp-method': 'tools/call' } }],
  'no header for the method': [400, -32020, 'tools/list', {}, { headers: { 'mcp-method': undefined } }],
  'a header for another version': [
    400,
    -32020,
    'tools/list',
    {},
    { headers: { 'mcp-protocol-version': '2025-11-25' } },
  ],
  'a header for another tool': [400, -32020, 'tools/call', { name: NAME }, { headers: { 'mcp-name': 'another' } }],
  'a task of a client without tasks': [400, -32021, 'tasks/get', { taskId: 'none' }],
  'a tool that is not there': [200, -32602, 'tools/call', { name: 'none' }],
  'arguments that are no object': [200, -32602, 'tools/call', { name: NAME, arguments: 1 }],
  'a state that was made up': [200, -32602, 'tools/call', { name: NAME, requestState: 'e30.e30' }],
  'a resource that is not there': [200, -32602, 'resources/read', { uri: 'parley://tasks/none' }],
  'a resource of another kind': [200, -32602, 'resources/read', { uri: 'file:///etc/passwd' }],
  'a prompt without what it needs': [200, -32602, 'prompts/get', { name: 'delegate' }],
  'a task that is not there': [200, -32602, 'tasks/get', { taskId: 'none' }, FOLLOWS],
  'answers that are no object': [200, -32602, 'tasks/update', { taskId: 'none', inputResponses: 1 }, FOLLOWS],
  'a completion of nothing': [200, -32602, 'completion/complete', {}],
  'a subscription to nothing': [200, -32602, 'subscriptions/listen', { notifications: 1 }],
};

describe('POST /mcp', () => {
  it('asks for a key, and says that there is no authorization server', async (t) => {
    const { parley } = await begun(t);
    const stranger = callerWith(parley.transport, undefined);
    const reply = await sendMcp(stranger, 'tools/list');
    assert.deepEqual([reply.status, reply.headers['www-authenticate']], [401, 'Bearer']);
    for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])
      assert.equal((await stranger.call('GET', path)).status, 404);
  });

  for (const [name, [status, code, ...request]] of Object.entries(WRONG)) {
    it(`answers ${name} with the error of the protocol, and changes nothing`, async (t) => {
      const { parley, host } = await begun(t);
      const reply = await sendMcp(host, ...request);
      const body = typeof reply.body === 'string' ? readStream(reply.body).at(-1) : reply.body;
      assert.deepEqual([reply.status, body?.error?.code, body?.id], [status, code, 1]);
      assert.deepEqual(await listTasks(parley), []);
    });
  }

  it('answers what is no JSON-RPC at all, and takes notifications', async (t) => {
    const { host } = await begun(t);
    const post = (body: unknown) => host.call('POST', '/mcp', body);
    const codes = [];
    for (const body of ['{', '[]', '{"jsonrpc":"2.0"}', '5']) {
      const { status, body: answer } = await post(body);
      codes.push([status, answer.error.code]);
    }
    assert.deepEqual(codes, [
      [400, -32700],
      [400, -32600],
      [400, -32600],
      [400, -32600],
    ]);
    assert.equal((await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
    assert.equal((await host.call('GET', '/mcp')).status, 405);
  });

  it('is closed to pages of other sites, unless the configuration lists them', async (t) => {
    const origins = ['https://app.example'];
    const parley = await testParley(t, { config: { mcp: { origins } } });
    const host = await parley.agent('host', { dialect: 'native', capabilities: [] });
    const statusFor = async (origin: string) => (await sendMcp(host, 'tools/list', {}, { headers: { origin } })).status;
    assert.deepEqual(
      [await statusFor('https://evil.example'), await statusFor('https://localhost.evil.example')],
      [403, 403],
    );
    assert.deepEqual([await statusFor('https://app.example'), await statusFor('http://localhost:3000')], [200, 200]);
  });

  it('shows a tool for a name with its input wrapped, if that is no object', async (t) => {
    const { parley, host } = await begun(t);
    const registration = {
      dialect: 'native',
      capabilities: ['count'],
      schemas: { count: { input: { type: 'number' } } },
    };
    const counter = await parley.agent('counter', registration);
    const { tools } = (await sendMcp(host, 'tools/list')).body.result;
    const { inputSchema } = tools.find(({ name }: { name: string }) => name === 'count');
    assert.deepEqual([inputSchema.type, inputSchema.required], ['object', ['input']]);
    const call = sendMcp(host, 'tools/call', { name: 'count', arguments: { input: 7 } });
    const [task] = await claimFor(counter);
    assert.equal(task.message.input, 7);
    await counter.send({ kind: 'result', taskId: task.message.id, output: 8 });
    assert.deepEqual((await call).body.result.content, [{ type: 'text', text: '8' }]);
  });

  it('shows an artifact as a resource, binary ones in base64', async (t) => {
    const { host, worker } = await begun(t);
    const bytes = Buffer.from([0, 255, 1]);
    await host.send({ kind: 'request', id: 'drawn', capability: NAME });
    await claimFor(worker);
    const artifacts = [
      { name: 'dot', type: 'image/png', encoding: 'base64', content: bytes.toString('base64') },
      { name: 'note', type: 'text/plain', content: 'a dot' },
    ];
    await worker.send({ kind: 'result', taskId: 'drawn', output: 'done', artifacts });
    const read = async (name: string) => {
      const uri = `parley://tasks/drawn/artifacts/${name}`;
      return (await sendMcp(host, 'resources/read', { uri })).body.result.contents[0];
    };
    assert.deepEqual(Buffer.from((await read('dot')).blob, 'base64'), bytes);
    assert.equal((await read('note')).text, 'a dot');
  });

  it('holds parameters that a schema wants in headers against the body', async (t) => {
    const { parley, host } = await begun(t);
    const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
    const schemas = { query: { input: { type: 'object', properties } } };
    await parley.agent('database', { dialect: 'native', capabilities: ['query'], schemas });
    const call = async (args: object, headers: Record<string, string>) =>
      (await sendMcp(host, 'tools/call', { name: 'query', arguments: args }, { headers, ...FOLLOWS })).body;
    for (const headers of [{}, { 'mcp-param-region': 'eu' }, { 'mcp-param-region': '=?base64?ZXU=?=' }]) {
      assert.equal((await call({ region: 'us' }, headers as Record<string, string>)).error.code, -32020);
    }
    assert.deepEqual(await listTasks(parley), []);
    const right = [call({ region: 'eu' }, { 'mcp-param-region': '=?base64?ZXU=?=' }), call({}, {})];
    let answered = 0;
    for (const one of right) one.finally(() => answered++);
    await eventually(() => {
      parley.clock.advance(1000);
      assert.equal(answered, 2);
    });
    for (const { result } of await Promise.all(right)) assert.equal(result.status, 'working');
    assert.equal((await listTasks(parley)).length, 2);
  });

  it('ends a task that nobody took as a failed task, and one that its agent failed as an error result', async (t) => {
    const { parley, host, worker } = await begun(t);
    const get = async (taskId: string) => (await sendMcp(host, 'tasks/get', { taskId }, FOLLOWS)).body.result;
    for (const id of ['late', 'bad']) {
      await host.send({ kind: 'request', id, capability: NAME, ttlSeconds: id === 'late' ? 60 : 600 });
    }
    parley.clock.advance(61_000);
    const [task] = await claimFor(worker);
    assert.equal(task.message.id, 'bad');
    await worker.send({ kind: 'failure', taskId: 'bad', code: 'model_error', message: 'it broke' });
    const bad = await get('bad');
    assert.deepEqual([bad.status, bad.result.isError], ['completed', true]);
    assert.match(bad.result.content[0].text, /model_error: it broke/);
    const late = await get('late');
    assert.deepEqual([late.status, late.error.code], ['failed', -32603]);
  });

  it('tells a listener which tasks change, and nobody else of them', async (t) => {
    const { parley, host, worker } = await begun(t);
    const stranger = await parley.agent('stranger', { dialect: 'native', capabilities: [] });
    const uri = 'parley://tasks/watched';
    await host.send({ kind: 'request', id: 'watched', capability: NAME });
    const [own, foreign] = [await listenTo(parley, host, uri), await listenTo(parley, stranger, uri)];
    assert.deepEqual((await own.next())?.params.notifications, { resourceSubscriptions: [uri] });
    await foreign.next();
    await claimFor(worker);
    assert.deepEqual((await own.next())?.params.uri, uri);
    await worker.send({ kind: 'result', taskId: 'watched', output: 1 });
    assert.equal((await own.next())?.method, 'notifications/resources/updated');
    assert.equal(await foreign.end(), undefined);
    await own.end();
  });
});

/** A subscription of MCP, message by message. */
const listenTo = async ({ parley }: TestParley, agent: TestAgent, uri: string) => {
  const leaving = new AbortController();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { notifications: { resourceSubscriptions: [uri], toolsListChanged: true }, _meta };
  const { body } = await parley.handle({
    method: 'POST',
    path: '/mcp',
    query: '',
    headers: {
      authorization: `Bearer ${agent.key}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    readBody: createBodyReader(
      Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })),
    ),
    signal: leaving.signal,
  });
  assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
  const pieces = body[Symbol.asyncIterator]();
  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  const next = async (): Promise<any> => {
    const { value, done } = await pieces.next();
    return done ? undefined : readStream(value)[0];
  };
  return {
    next,
    /** What came after the listener left: nothing but the end of the subscription. */
    end: async () => {
      leaving.abort();
      return (await next())?.method;
    },
  };
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const claimFor = async (worker: TestAgent): Promise<any[]> => {
  for (;;) {
    const tasks = await worker.claim({ wait: 5 });
    if (tasks.length > 0) return tasks;
  }
};

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const readStream = (text: string): any[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
