import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace } from '../http/refusal.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('Task Format routing', () => {
  it('gives a request only to its target', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const baker = await parley.agent('baker', { ...taskFormat, capabilities: ['parse_recipe'] });
    const request = tfRequest({ routing: { target: 'baker' } });
    await orchestrator.send(request);
    assert.deepEqual(await cook.claim(), []);
    assert.equal((await baker.claim())[0].message.id, request.id);
  });

  it('gives a request to a provider of the domain of its type', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest({ type: 'home.dinner' });
    await orchestrator.send(request);
    assert.equal((await orchestrator.task(request.id)).domain, 'home');
    assert.equal((await cook.claim({ domains: ['home'] }))[0].message.id, request.id);
  });

  it('gives a request to a provider of its capability, by priority', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const baker = await parley.agent('baker', { dialect: 'round-table', capabilities: ['parse_recipe'] });
    const waiter = await parley.agent('waiter', { ...taskFormat, capabilities: ['serve', 'parse_recipes'] });
    const [normal, urgent] = [tfRequest(), tfRequest({ context: { priority: 'urgent' } })];
    await orchestrator.send(normal);
    await orchestrator.send(urgent);
    assert.deepEqual(await waiter.claim(), []);
    assert.equal((await waiter.call('GET', `/v1/tasks/${normal.id}`)).status, 404);
    await refusedWithoutTrace(parley, 404, 'task_not_found', () => waiter.send({ id: normal.id, status: 'pending' }));
    assert.equal((await cook.claim())[0].message.id, urgent.id);
    assert.equal((await baker.call('GET', `/v1/tasks/${normal.id}`)).status, 200);
    assert.equal((await baker.claim())[0].message.id, normal.id);
    assert.deepEqual(await cook.claim(), []);
  });

  it('gives a request to a waiting agent at once', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const waiting = cook.claim({ wait: 20 });
    const request = tfRequest();
    await orchestrator.send(request);
    assert.equal((await waiting)[0].message.id, request.id);
  });

  it('rejects a request without a provider of its capability, also after a provider is gone', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const refused = async (type: string) => {
      const reply = await refusedWithoutTrace(parley, 422, 'capability_not_found', () =>
        orchestrator.send(tfRequest({ type })),
      );
      assert.equal(reply.body.error.code, 'CAPABILITY_NOT_FOUND');
      assert.equal(reply.body.error.recoverable, false);
    };
    await refused('write_poems');
    await refused('alchemy.gold');
    const change = (capabilities: string[]) =>
      parley.admin.call('PUT', '/v1/agents/cook', { ...taskFormat, capabilities });
    assert.equal((await change(['write_poems', 'write_poems'])).status, 200);
    assert.equal((await orchestrator.send(tfRequest({ type: 'write_poems' }))).status, 202);
    await refused('parse_recipe');
    assert.equal((await change(['parse_recipe'])).status, 200);
    assert.equal((await orchestrator.send(tfRequest())).status, 202);
    await refused('write_poems');
    await parley.admin.call('DELETE', '/v1/agents/cook');
    await refused('parse_recipe');
    await parley.agent('another-cook', { ...taskFormat, capabilities: ['parse_recipe'] });
    assert.equal((await orchestrator.send(tfRequest())).status, 202);
  });

  it('rejects a request to an unknown target', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const reply = await refusedWithoutTrace(parley, 422, 'unknown_agent', () =>
      orchestrator.send(tfRequest({ routing: { target: 'nobody' } })),
    );
    assert.equal(reply.body.error.code, 'AGENT_NOT_FOUND');
  });

  it('rejects a request or a result in the name of another agent', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const request = tfRequest();
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () =>
      orchestrator.send({ ...request, routing: { source: 'cook' } }),
    );
    await orchestrator.send(request);
    const done = { id: request.id, status: 'completed', metadata: { agent: 'orchestrator' } };
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () => cook.send(done));
  });
});

describe('capabilities without a domain', () => {
  it('rejects a registration with more than 87 of them', async (t) => {
    const { admin } = await testParley(t);
    const capabilities = Array.from({ length: 88 }, (_, index) => `skill_${index}`);
    const put = (list: string[]) => admin.call('PUT', '/v1/agents/many', { ...taskFormat, capabilities: list });
    assert.equal((await put(capabilities)).status, 413);
    assert.equal((await put(capabilities.slice(1))).status, 201);
  });
});
