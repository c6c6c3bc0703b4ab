import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { address, admin, agent } = await deployment();

/** A capability that nobody else has. */
const SKILL = `skill_${randomBytes(4).toString('hex')}`;
const taskFormat = { dialect: 'task-format', capabilities: [] };
const request = (overrides: Record<string, unknown> = {}) => tfRequest({ type: SKILL, ...overrides });

describe('in the task format', () => {
  it('a task goes to whoever has its capability, and comes back with its artifacts', async () => {
    const orchestrator = await agent('orchestrator', taskFormat);
    const nobody = await orchestrator.call('POST', '/v1/tasks', request());
    assert.equal(nobody.body.code, 'capability_not_found');
    const cook = await agent('cook', { ...taskFormat, capabilities: [SKILL] });
    const task = request({ context: { priority: 'urgent' } });
    const pending = await orchestrator.call('POST', '/v1/tasks', task);
    assert.deepEqual([pending.status, pending.body.status], [202, 'pending']);
    const [{ message }] = await cook.claim({ wait: 20 });
    assert.equal(message.id, task.id);
    const bytes = randomBytes(5000);
    const artifacts = [
      { name: 'a b.png', type: 'image/png', content: bytes.toString('base64'), encoding: 'base64' },
      { name: 'draft.md', type: 'text/markdown', content: '# Entwurf' },
    ];
    assert.equal((await cook.send({ id: task.id, status: 'completed', result: { n: 1 }, artifacts })).status, 202);
    const [outcome] = await orchestrator.inbox(20);
    assert.deepEqual([outcome.id, outcome.result, outcome.artifacts], [task.id, { n: 1 }, artifacts]);
    const list = await orchestrator.call('GET', `/v1/tasks/${task.id}/artifacts`);
    const [{ uri }] = list.body.artifacts;
    const response = await fetch(address + uri, { headers: { authorization: `Bearer ${orchestrator.key}` } });
    assert.equal(response.headers.get('content-type'), 'image/png');
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
  });

  it('an agent asks, is answered, and goes on', async () => {
    const orchestrator = await agent('orchestrator', taskFormat);
    const cook = await agent('cook', taskFormat);
    const task = request({ routing: { target: cook.id } });
    const waiting = orchestrator.call('POST', '/v1/tasks?wait=20', task);
    await cook.claim({ wait: 20 });
    const input = { prompt: 'How many?', schema: { type: 'integer' }, state: { step: 2 } };
    assert.equal((await cook.send({ id: task.id, status: 'input_required', input })).status, 202);
    assert.deepEqual((await waiting).body.input, input);
    assert.equal((await orchestrator.inbox(20))[0].input.prompt, 'How many?');
    const answer = (given: unknown) => orchestrator.call('POST', `/v1/tasks/${task.id}/input`, { input: given });
    assert.deepEqual([(await answer('x')).status, (await answer(4)).status, (await answer(4)).status], [400, 202, 200]);
    assert.deepEqual(await cook.inbox(20), [{ id: task.id, input: { ...input, answer: 4 } }]);
    assert.equal((await cook.send({ id: task.id, status: 'completed', result: 4 })).status, 202);
    assert.equal((await orchestrator.task(task.id, 20)).result, 4);
  });

  it('a task whose id is no UUID is done by an agent that can only say UUIDs', async () => {
    const orchestrator = await agent('orchestrator', taskFormat);
    const knight = await agent('knight');
    const task = request({ id: `dinner-${knight.id}`, routing: { target: knight.id } });
    assert.equal((await orchestrator.send(task)).status, 202);
    const [{ message }] = await knight.claim({ wait: 20 });
    assert.equal((await knight.complete(message.id, { dish: 'soup' })).status, 202);
    assert.deepEqual((await orchestrator.task(task.id, 20)).result, { dish: 'soup' });
  });

  it('cancelling a task cancels what was made of it', async () => {
    const orchestrator = await agent('orchestrator', taskFormat);
    const [cook, butcher] = [await agent('cook', taskFormat), await agent('butcher', taskFormat)];
    const parent = request({ routing: { target: cook.id } });
    await orchestrator.send(parent);
    await cook.claim({ wait: 20 });
    const child = request({ routing: { target: butcher.id }, context: { parentTaskId: parent.id } });
    assert.equal((await cook.send(child)).status, 202);
    assert.equal((await cook.send(child)).status, 200);
    const back = request({ routing: { target: orchestrator.id }, context: { parentTaskId: parent.id } });
    assert.equal((await cook.send(back)).body.code, 'delegation_cycle');
    await orchestrator.call('POST', `/v1/tasks/${parent.id}/cancel`);
    await eventually(async () => assert.equal((await cook.task(child.id, 5)).status, 'cancelled'), 30_000);
    const late = request({ context: { parentTaskId: parent.id }, routing: { target: butcher.id } });
    assert.equal((await cook.send(late)).body.code, 'cancelled');
  });

  it('cancelling a task cancels all that was made of it, also where that is more than one go takes', async () => {
    const orchestrator = await agent('orchestrator', taskFormat);
    const [cook, butcher] = [await agent('cook', taskFormat), await agent('butcher', taskFormat)];
    const parent = request({ routing: { target: cook.id } });
    await orchestrator.send(parent);
    await cook.claim({ wait: 20 });
    const child = () => request({ routing: { target: butcher.id }, context: { parentTaskId: parent.id } });
    const ids: string[] = [];
    while (ids.length < 125) {
      const messages = Array.from({ length: 25 }, child);
      const { results } = (await cook.call('POST', '/v1/messages', { messages })).body;
      assert.ok(results.every(({ status }: { status: number }) => status === 202));
      ids.push(...messages.map(({ id }) => id));
    }
    await orchestrator.call('POST', `/v1/tasks/${parent.id}/cancel`);
    for (const id of [ids.toSorted()[0], ...ids.toSorted().slice(-5)]) {
      await eventually(async () => assert.equal((await cook.task(id ?? '', 5)).status, 'cancelled'), 30_000);
    }
  });

  it('a changed registration changes who can be found by a capability', async () => {
    const skill = `${SKILL}_2`;
    const orchestrator = await agent('orchestrator', taskFormat);
    const cook = await agent('cook', { ...taskFormat, capabilities: [skill] });
    assert.equal((await orchestrator.send(tfRequest({ type: skill }))).status, 202);
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    const changed = (capabilities: string[]) =>
      admin.call('PUT', `/v1/agents/${cook.id}`, { ...taskFormat, capabilities });
    assert.equal((await changed([`${skill}_more`])).status, 200);
    assert.equal((await orchestrator.send(tfRequest({ type: skill }))).body.code, 'capability_not_found');
    assert.equal((await orchestrator.send(tfRequest({ type: `${skill}_more` }))).status, 202);
  });
});
