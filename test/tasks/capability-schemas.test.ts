import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { agentOsAgent } from '../support/agent-os-agent.ts';
import { taskRequest } from '../support/api.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const URL = { type: 'object', required: ['url'], properties: { url: { type: 'string' } } };
const RECIPE = { type: 'object', required: ['title'], properties: { title: { type: 'string' } } };
const COOK = {
  ...taskFormat,
  capabilities: ['parse_recipe'],
  schemas: { parse_recipe: { input: URL, output: RECIPE } },
};

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const orchestrator = await parley.agent('orchestrator', taskFormat);
  return { parley, orchestrator, cook: await parley.agent('cook', COOK) };
};

const paths = ({ issues }: { issues: { path: string }[] }): string[] => issues.map(({ path }) => path);

describe('schemas of a capability', () => {
  it('shows the schemas of a registration', async (t) => {
    const { orchestrator } = await start(t);
    assert.deepEqual((await orchestrator.call('GET', '/v1/agents/cook')).body.schemas, COOK.schemas);
  });

  it('tells the requester at once that an input does not fit the agent that it names', async (t) => {
    const { parley, orchestrator, cook } = await start(t);
    const request = tfRequest({ payload: { uri: 1 }, routing: { target: 'cook' } });
    const { body } = await refusedWithoutTrace(parley, 400, 'invalid_message', () => orchestrator.send(request));
    assert.deepEqual([paths(body), body.error.code], [['input.url'], 'INVALID_INPUT']);
    assert.equal((await orchestrator.send(tfRequest({ routing: { target: 'cook' } }))).status, 202);
    assert.equal((await cook.claim()).length, 1);
  });

  it('gives an agent no task whose input does not fit, and tells the requester', async (t) => {
    const { parley, orchestrator, cook } = await start(t);
    const [wrong, right] = [tfRequest({ payload: {} }), tfRequest()];
    await orchestrator.send(wrong);
    await orchestrator.send(right);
    const claimed = await cook.claim({ max: 2 });
    assert.deepEqual(
      claimed.map(({ message }) => message.id),
      [right.id],
    );
    await settled(parley);
    const [{ id, status, error }] = await orchestrator.inbox();
    assert.deepEqual([id, status, error.code, error.recoverable], [wrong.id, 'failed', 'INVALID_INPUT', false]);
    assert.deepEqual(paths(error.details), ['input.url']);
  });

  it('gives a task to an agent whose schema its input fits, where that of another does not', async (t) => {
    const { parley, orchestrator, cook } = await start(t);
    const baker = await parley.agent('baker', { ...taskFormat, capabilities: ['parse_recipe'] });
    const request = tfRequest({ payload: {} });
    await orchestrator.send(request);
    assert.deepEqual(await cook.claim(), []);
    assert.equal((await baker.claim({ wait: 20 }))[0].message.id, request.id);
    assert.equal((await orchestrator.task(request.id)).status, 'in_progress');
    assert.deepEqual(await cook.claim(), []);
  });

  it('refuses an output that does not fit, and takes the one that its holder mended', async (t) => {
    const { parley, orchestrator, cook } = await start(t);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    await cook.claim();
    for (const result of [{}, { title: 1 }, 'soup', undefined]) {
      const done = () => cook.send({ id, status: 'completed', result });
      const { body } = await refusedWithoutTrace(parley, 400, 'invalid_message', done);
      assert.match(paths(body)[0] ?? '', /^output/);
    }
    assert.equal((await orchestrator.task(id)).status, 'in_progress');
    const done = { id, status: 'completed', result: { title: 'Soup' } };
    assert.deepEqual([(await cook.send(done)).status, (await cook.send(done)).status], [202, 200]);
    assert.deepEqual((await orchestrator.task(id)).result, done.result);
  });

  it('checks an output that claims its task in the same call', async (t) => {
    const { orchestrator, cook } = await start(t);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    assertRefused(await cook.send({ id, status: 'completed', result: {} }), 400, 'invalid_message');
    assert.equal((await orchestrator.task(id)).state, 'requested');
    assert.equal((await cook.send({ id, status: 'completed', result: { title: 'Soup' } })).status, 202);
  });

  it('checks only tasks of the capability that the schema is for', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const butcher = await parley.agent('butcher', { ...COOK, capabilities: ['parse_recipe', 'cut_meat'] });
    const request = tfRequest({ type: 'cut_meat', payload: {}, routing: { target: 'butcher' } });
    assert.equal((await orchestrator.send(request)).status, 202);
    assert.equal((await butcher.send({ id: request.id, status: 'completed', result: 'cut' })).status, 202);
  });

  it('tells a requester of another protocol in its words', async (t) => {
    const parley = await testParley(t);
    const knight = await parley.agent('knight');
    const registration = { ...taskFormat, capabilities: ['home.dinner'], schemas: { 'home.dinner': { input: URL } } };
    const cook = await parley.agent('cook', registration);
    const payload = { task: 'home.dinner', params: {} };
    const named = taskRequest('knight', { to: 'cook', payload });
    const { body } = await refusedWithoutTrace(parley, 400, 'invalid_message', () => knight.send(named));
    assert.deepEqual(paths(body), ['input.url']);
    await knight.request({ payload });
    assert.deepEqual(await cook.claim(), []);
    await settled(parley);
    assert.equal((await knight.inbox())[0].payload.error, 'invalid_params');
  });

  it('does not hold messages that name no capability against a schema', async (t) => {
    const { parley, cook } = await start(t);
    await (await agentOsAgent(parley, 'one-brain')).say('query', 'cook');
    assert.equal((await cook.claim()).length, 1);
  });

  it('accepts a graph only if the inputs fit the agents that it names', async (t) => {
    const { parley, orchestrator } = await start(t);
    const node = { taskId: 'a', capability: 'parse_recipe', agent: 'cook' };
    const graph = () => orchestrator.call('POST', '/v1/graphs', { graphId: 'g', nodes: [node] });
    const { body } = await refusedWithoutTrace(parley, 400, 'invalid_message', graph);
    assert.deepEqual(paths(body), ['nodes[0].input.url']);
  });

  it('refuses an input that takes too many steps to check', async (t) => {
    const parley = await testParley(t);
    const orchestrator = await parley.agent('orchestrator', taskFormat);
    const schemas = { count: { input: { properties: { list: { items: { type: 'integer' } } } } } };
    const counter = await parley.agent('counter', { ...taskFormat, capabilities: ['count'], schemas });
    const payload = { list: Array.from({ length: 60_000 }, (_, at) => at) };
    const request = tfRequest({ type: 'count', payload, routing: { target: 'counter' } });
    assertRefused(await orchestrator.send(request), 413, 'too_large');
    const routed = tfRequest({ type: 'count', payload });
    assert.equal((await orchestrator.send(routed)).status, 202);
    assert.deepEqual(await counter.claim(), []);
    assert.equal((await orchestrator.task(routed.id)).error.code, 'INVALID_INPUT');
  });

  const unreadable: [what: string, schemas: object, path: string][] = [
    ['that is no JSON Schema', { a: { input: { type: 'text' } } }, 'schemas.a.input'],
    ['that cannot be bounded', { a: { output: { unevaluatedProperties: false } } }, 'schemas.a.output'],
    ['of another side', { a: { result: {} } }, 'schemas.a.result'],
    ['that is a text', { a: { input: 'object' } }, 'schemas.a.input'],
  ];
  for (const [what, schemas, path] of unreadable) {
    it(`refuses to register a schema ${what}`, async (t) => {
      const parley = await testParley(t);
      const { body } = await refusedWithoutTrace(parley, 400, 'invalid_request', () =>
        parley.admin.call('PUT', '/v1/agents/cook', { ...taskFormat, schemas }),
      );
      assert.deepEqual(paths(body), [path]);
    });
  }

  it('refuses schemas of an agent that works in turns', async (t) => {
    const { admin } = await testParley(t);
    const put = { dialect: 'common-ground', schemas: { a: { input: {} } } };
    assertRefused(await admin.call('PUT', '/v1/agents/worker', put), 400, 'invalid_request');
  });

  it('notices that a named agent does not declare the capability', async (t) => {
    const { orchestrator } = await start(t);
    const { body } = await orchestrator.send(tfRequest({ type: 'bake_bread', routing: { target: 'cook' } }));
    assert.deepEqual(body.notices, ['The agent cook does not declare bake_bread.']);
    const { body: declared } = await orchestrator.send(tfRequest({ routing: { target: 'cook' } }));
    assert.equal(declared.notices, undefined);
  });
});
