import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

const unique = (): string => `home.${randomUUID()}`;
const asking = (task: string) => ({ payload: { task } });

const claimedIds = async (claimer: TestAgent, options: object = { wait: 15 }): Promise<string[]> =>
  (await claimer.claim(options)).map(({ message }) => message.id);

describe('capabilities', () => {
  it('decide who is handed a task of a domain', async () => {
    const [scan, brief] = [unique(), unique()];
    const [tim, kay] = [await agent('tim'), await agent('kay', { capabilities: [scan] })];
    const bors = await agent('bors', { capabilities: [brief] });
    const [first, second] = [await tim.request(asking(scan)), await tim.request(asking(brief))];
    assert.deepEqual(await claimedIds(bors), [second]);
    assert.deepEqual(await claimedIds(kay), [first]);
    assert.deepEqual(await claimedIds(bors, { wait: 1 }), []);
    for (const [holder, id] of [
      [kay, first],
      [bors, second],
    ] as const) {
      assert.equal((await holder.complete(id)).status, 202);
    }
  });

  it('that an agent lacks give the task to another, and it never comes back', async () => {
    const scan = unique();
    const [tim, kay] = [await agent('tim'), await agent('kay', { capabilities: [scan] })];
    const bors = await agent('bors', { capabilities: [scan] });
    const id = await tim.request(asking(scan));
    assert.deepEqual(await claimedIds(kay), [id]);
    assert.equal((await kay.fail(id, { error: 'skill_missing', message: 'no' })).status, 202);
    assert.deepEqual(await claimedIds(bors), [id]);
    assert.deepEqual(await claimedIds(kay, { wait: 1 }), []);
  });

  it('that nobody declares are noticed, and the task comes to whoever declares them', async () => {
    const scan = unique();
    const tim = await agent('tim');
    const id = await tim.request(asking(scan));
    const kay = await agent('kay', { capabilities: [scan] });
    assert.deepEqual(await claimedIds(kay, { wait: 20 }), [id]);
    assert.equal((await kay.call('POST', `/v1/tasks/${id}/release`)).status, 200);
    assert.deepEqual(await claimedIds(kay), [id]);
    assert.equal((await kay.complete(id)).status, 202);
  });
});
