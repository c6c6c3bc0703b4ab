import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { setAdminKey } from '../../shared/identity/auth/set-operator-key.ts';
import { callerWith, registered } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const V1 = { 'a2a-version': '1.0' };
const { default: project } = baseConfig.projects;
assert.ok(project);

const scene = async (t: TestContext) => {
  const a2a = { ...baseConfig.dialects.a2a, publicProject: 'default' };
  const projects = { default: project, other: project };
  const parley = await testParley(t, { config: { projects, dialects: { ...baseConfig.dialects, a2a } } });
  const asker = await parley.agent('asker', { dialect: 'a2a' });
  const worker = await parley.agent('worker', {
    capabilities: ['security.briefing'],
    schemas: { 'security.briefing': { output: { type: 'object' } } },
    agentCard: {
      name: 'Briefer',
      description: 'Briefs.',
      inputModes: ['text/plain', 'image/*'],
      skills: { 'security.briefing': { examples: ['Brief me.'] } },
    },
  });
  const message = (more: object = {}) => ({
    messageId: randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: 'x' }],
    ...more,
  });
  const rpc = async (method: string, params: object, headers: Record<string, string> = V1, path = '/a2a/worker') =>
    (await asker.call('POST', path, { jsonrpc: '2.0', id: 7, method, params }, headers)).body;
  const nothing = async () => assert.deepEqual((await asker.call('GET', '/v1/tasks')).body.tasks, []);
  const open = callerWith(parley.transport, undefined);
  return { parley, asker, worker, message, rpc, nothing, open };
};

const reasonOf = (body: { error: { code: number; data?: { reason: string }[] } }): unknown[] => [
  body.error.code,
  body.error.data?.[0]?.reason,
];

describe('A2A over HTTP', () => {
  it('refuses what is no call of the protocol with its own errors, and nothing has changed', async (t) => {
    const { asker, message, rpc, nothing } = await scene(t);
    const sent = { message: message() };
    const raw = async (body: unknown, headers: Record<string, string> = V1) =>
      (await asker.call('POST', '/a2a/worker', body, headers)).body;
    assert.deepEqual(reasonOf(await raw('{')), [-32700, 'INVALID_JSON']);
    assert.equal((await raw([])).error.code, -32600);
    assert.equal((await raw({ id: 1, method: 'GetTask' })).error.code, -32600);
    assert.equal((await rpc('message/send', sent)).error.code, -32601);
    assert.deepEqual(reasonOf(await rpc('SendMessage', sent, {})), [-32009, 'VERSION_NOT_SUPPORTED']);
    assert.deepEqual(reasonOf(await rpc('SendMessage', sent, { 'a2a-version': '0.3' })), [
      -32009,
      'VERSION_NOT_SUPPORTED',
    ]);
    assert.deepEqual(reasonOf(await rpc('SendMessage', { ...sent, tenant: 'asker' })), [-32602, 'INVALID_PARAMS']);
    assert.deepEqual(reasonOf(await rpc('SendMessage', { message: { parts: [] } })), [-32602, 'INVALID_REQUEST']);
    assert.deepEqual(reasonOf(await rpc('SendMessage', { message: message({ role: 'ROLE_AGENT' }) })), [
      -32602,
      'INVALID_PARAMS',
    ]);
    const data = { message: message({ parts: [{ data: {} }] }) };
    assert.deepEqual(reasonOf(await rpc('SendMessage', data)), [-32005, 'CONTENT_TYPE_NOT_SUPPORTED']);
    assert.deepEqual(reasonOf(await rpc('SendMessage', { message: message({ taskId: 'none' }) })), [
      -32001,
      'TASK_NOT_FOUND',
    ]);
    assert.deepEqual(reasonOf(await rpc('GetTask', { id: 'none' })), [-32001, 'TASK_NOT_FOUND']);
    assert.deepEqual(reasonOf(await rpc('ListTasks', { pageSize: 101 })), [-32602, 'INVALID_REQUEST']);
    assert.deepEqual(reasonOf(await rpc('ListTasks', { pageToken: 'x' })), [-32602, 'INVALID_PARAMS']);
    assert.deepEqual(reasonOf(await rpc('SendMessage', sent, V1, '/a2a/nobody')), [-32602, 'AGENT_NOT_FOUND']);
    const { status, body } = await asker.call('GET', '/a2a/worker/tasks/none', undefined, V1);
    assert.deepEqual([status, body.error.status, body.error.details[0].domain], [404, 'NOT_FOUND', 'a2a-protocol.org']);
    await nothing();
  });

  it('answers in the media type of the request, and names the extensions that it knows', async (t) => {
    const { asker } = await scene(t);
    const uri = 'https://parley.dev/a2a/extensions/parley/v1';
    const typeOf = async (headers: Record<string, string>) =>
      (await asker.call('GET', '/a2a/worker/tasks', undefined, { ...V1, ...headers })).headers;
    assert.equal((await typeOf({}))['content-type'], 'application/a2a+json');
    assert.equal((await typeOf({ accept: 'application/json' }))['content-type'], 'application/json');
    assert.equal((await typeOf({ 'content-type': 'application/json' }))['content-type'], 'application/json');
    assert.equal((await typeOf({ 'a2a-extensions': `https://unknown.example, ${uri}` }))['a2a-extensions'], uri);
  });

  it('gives the gateway work for any agent, by capability or by tenant', async (t) => {
    const { asker, worker, message, rpc } = await scene(t);
    const now = { configuration: { returnImmediately: true } };
    const metadata = { parley: { capability: 'security.briefing' } };
    const { result } = await rpc('SendMessage', { message: message({ metadata }), ...now }, V1, '/a2a');
    const path = '/a2a/@gateway/worker/message:send';
    const { status, body } = await asker.call('POST', path, { message: message(), ...now }, V1);
    assert.equal(status, 200, JSON.stringify(body));
    const claimed = await worker.claim({ max: 2 });
    assert.deepEqual(claimed.map((task) => task.message.id).sort(), [result.task.id, body.task.id].sort());
    const missing = await rpc('SendMessage', { message: message(), ...now }, V1, '/a2a');
    assert.equal(missing.error.code, -32602);
  });

  it('shows cards as their agents are registered, extended with a key, and the same again as unchanged', async (t) => {
    const { open, asker, rpc } = await scene(t);
    const path = '/a2a/worker/.well-known/agent-card.json';
    const { body: card, headers } = await open.call('GET', path, undefined, { host: 'parley.example' });
    assert.deepEqual([card.name, card.description], ['Briefer', 'Briefs.']);
    assert.deepEqual(
      card.supportedInterfaces.map((one: Record<string, string>) => [
        one.url,
        one.protocolBinding,
        one.protocolVersion,
      ]),
      [
        ['http://parley.example/a2a/worker', 'JSONRPC', '1.0'],
        ['http://parley.example/a2a/worker', 'HTTP+JSON', '1.0'],
      ],
    );
    const [skill] = card.skills;
    assert.deepEqual([skill.id, skill.tags, skill.examples], ['security.briefing', ['security'], ['Brief me.']]);
    assert.doesNotMatch(JSON.stringify(card), /schemas/);
    const again = await open.call('GET', path, undefined, {
      host: 'parley.example',
      'if-none-match': headers.etag ?? '',
    });
    assert.equal(again.status, 304);
    const { result } = await rpc('GetExtendedAgentCard', {});
    assert.match(JSON.stringify(result), /schemas/);
    const gateway = (await open.call('GET', '/.well-known/agent-card.json')).body;
    assert.ok(gateway.skills.some(({ id }: { id: string }) => id === 'security.*'));
    const catalog = (await asker.call('GET', '/.well-known/ai-catalog.json')).body;
    assert.equal(catalog.entries.length, 3);
  });

  it('tells another project no more of an agent, a task and its push configuration than of missing ones', async (t) => {
    const { parley, asker, message, rpc } = await scene(t);
    const now = { configuration: { returnImmediately: true } };
    const { result } = await rpc('SendMessage', { message: message(), ...now });
    const key = generateKey('other', ADMIN_OWNER);
    await setAdminKey(parley.parley.deps.records, 'other', key, 'the-admin-of-other');
    const admin = callerWith(parley.transport, key);
    const foreigner = await registered(parley.transport, admin, asker.id, { dialect: 'a2a' });
    const card = (name: string) => foreigner.call('GET', `/a2a/${name}/.well-known/agent-card.json`);
    const [theirs, none] = [await card('worker'), await card('nobody')];
    assert.deepEqual([theirs.status, theirs.body.code], [none.status, none.body.code]);
    const read = async (id: string) => {
      const { status, body } = await foreigner.call('GET', `/a2a/@gateway/tasks/${id}`, undefined, V1);
      return [status, JSON.stringify(body).replaceAll(id, 'x')];
    };
    assert.deepEqual(await read(result.task.id), await read(randomUUID()));
    const taskId = result.task.id;
    const id = 'receiver';
    const made = await rpc('CreateTaskPushNotificationConfig', { taskId, id, url: 'https://receiver.example/' });
    assert.equal(made.result?.id, id, JSON.stringify(made.error));
    const ask = async (method: string, named: string) => {
      const params = { taskId: named, id, url: 'https://elsewhere.example/' };
      const { status, body } = await foreigner.call('POST', '/a2a', { jsonrpc: '2.0', id: 1, method, params }, V1);
      return [status, JSON.stringify(body).replaceAll(named, 'x')];
    };
    for (const verb of ['Create', 'Get', 'Delete']) {
      const method = `${verb}TaskPushNotificationConfig`;
      assert.deepEqual(await ask(method, taskId), await ask(method, randomUUID()), method);
    }
    assert.deepEqual(
      await ask('ListTaskPushNotificationConfigs', taskId),
      await ask('ListTaskPushNotificationConfigs', randomUUID()),
    );
    const kept = await rpc('GetTaskPushNotificationConfig', { taskId, id });
    assert.equal(kept.result?.url, 'https://receiver.example/');
  });

  it('needs a key for cards where no project is public', async (t) => {
    const parley = await testParley(t);
    await parley.agent('worker');
    const open = callerWith(parley.transport, undefined);
    assert.equal((await open.call('GET', '/a2a/worker/.well-known/agent-card.json')).status, 401);
  });
});
