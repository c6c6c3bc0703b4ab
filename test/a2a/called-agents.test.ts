import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { a2aServer, type Script } from '../support/a2a-server.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';
import { outboundConfig } from '../support/webhook-receiver.ts';

const scene = async (t: TestContext, script: Script) => {
  const server = await a2aServer(t, script);
  const parley = await testParley(t, { config: outboundConfig });
  const asker = await parley.agent('asker');
  const register = (more: object = {}) =>
    parley.admin.call('PUT', '/v1/agents/remote', {
      dialect: 'a2a',
      transport: 'a2a',
      url: server.address,
      authorization: 'Bearer of-the-remote',
      ...more,
    });
  assert.equal((await register()).status, 201);
  /** Time goes on while it is not. */
  const until = (id: string, state: string) =>
    eventually(async () => {
      const task = await asker.task(id);
      if (task.state !== state) parley.clock.advance(500);
      assert.equal(task.state, state, JSON.stringify(task));
      return task;
    });
  const sent = () => server.seen.filter(({ method }) => method === 'SendMessage');
  return { server, parley, asker, register, until, sent };
};

describe('An agent that speaks A2A as a server', () => {
  it('is called with the task, and what it says becomes progress, artifacts and the result', async (t) => {
    const { asker, until, sent } = await scene(t, async ({ text, say, give }) => {
      say('WORKING', `Looking at ${text.length > 0}.`);
      give('result', 'Two a day.');
      give('table.csv', 'port,height');
      say('COMPLETED');
    });
    const id = await asker.request({ to: 'remote' });
    const task = await until(id, 'completed');
    assert.equal(task.result, 'Two a day.');
    assert.deepEqual(
      task.artifacts.map(({ name }: { name: string }) => name),
      ['table.csv'],
    );
    assert.equal(task.metadata.agent, 'remote');
    const [call, ...more] = sent();
    assert.deepEqual(more, []);
    assert.equal(call?.authorization, 'Bearer of-the-remote');
  });

  it('asks, is answered in its own task, and goes on', async (t) => {
    const { asker, until, sent } = await scene(t, ({ text, isFollowUp, say }) => {
      if (isFollowUp) say('COMPLETED', `It is ${text}.`);
      else say('INPUT_REQUIRED', 'Which ocean?');
    });
    const id = await asker.request({ to: 'remote' });
    const { input } = await until(id, 'input_required');
    assert.equal(input.prompt, 'Which ocean?');
    assert.equal((await asker.call('POST', `/v1/tasks/${id}/input`, { input: 'the Atlantic' })).status, 202);
    const { result } = await until(id, 'completed');
    assert.equal(result, 'It is "the Atlantic".');
    assert.equal(sent().length, 2);
  });

  it('fails and rejects tasks, and a rejected one fails for good', async (t) => {
    const { asker, until } = await scene(t, ({ say }) => say('REJECTED', 'Not my trade.'));
    const id = await asker.request({ to: 'remote' });
    const { error } = await until(id, 'failed');
    assert.match(error.message, /Not my trade/);
  });

  it('is told when its task is cancelled', async (t) => {
    const { asker, until, server, parley } = await scene(t, ({ say }) => say('WORKING', 'For long.'));
    const id = await asker.request({ to: 'remote' });
    await until(id, 'in_progress');
    assert.equal((await asker.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
    await eventually(() => {
      parley.clock.advance(500);
      assert.ok(server.seen.some(({ method }) => method === 'CancelTask'));
    });
  });

  it('gets a task once, though its answer is lost and Parley restarts in the middle', async (t) => {
    let executions = 0;
    const { asker, until, server, parley, sent } = await scene(t, ({ say }) => {
      executions += 1;
      say('COMPLETED', 'Done.');
    });
    server.network.losesAnswers = true;
    const id = await asker.request({ to: 'remote' });
    await eventually(() => assert.equal(sent().length, 1));
    await settled(parley);
    await parley.restart();
    server.network.losesAnswers = false;
    assert.equal((await until(id, 'completed')).result, 'Done.');
    assert.equal(executions, 1);
  });

  it('that is down gets its task when it is back', async (t) => {
    const { asker, until, server, parley } = await scene(t, ({ say }) => say('COMPLETED', 'Done.'));
    server.network.isDown = true;
    const id = await asker.request({ to: 'remote' });
    await until(id, 'claimed');
    await settled(parley);
    server.network.isDown = false;
    assert.equal((await until(id, 'completed')).result, 'Done.');
  });

  it('is refused without an address, at a private one, and in another dialect, and its key is never shown', async (t) => {
    const { register, parley } = await scene(t, () => {});
    assertRefused(await register({ url: undefined }), 400, 'invalid_request');
    assertRefused(await register({ transport: 'http' }), 400, 'invalid_request');
    assertRefused(await register({ dialect: 'native' }), 400, 'invalid_request');
    const { body } = await parley.admin.call('GET', '/v1/agents/remote');
    assert.equal(body.transport, 'a2a');
    assert.doesNotMatch(JSON.stringify(body), /of-the-remote/);
    const closed = await testParley(t);
    const answer = await closed.admin.call('PUT', '/v1/agents/remote', {
      dialect: 'a2a',
      transport: 'a2a',
      url: 'http://127.0.0.1:1/',
    });
    assertRefused(answer, 400, 'address_forbidden');
  });
});
