import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { listingRef } from '../../shared/model/task-listing.ts';
import type { TestAgent } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const send = async (client: TestAgent, contextId = 'one'): Promise<string> => {
  const message = { messageId: randomUUID(), contextId, role: 'ROLE_USER', parts: [{ text: 'Tides.' }] };
  const body = { message, configuration: { returnImmediately: true } };
  const reply = await client.call('POST', '/a2a/worker/message:send', body, { 'a2a-version': '1.0' });
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  return reply.body.task.id;
};

const list = async (client: TestAgent, query = ''): Promise<{ ids: string[]; states: string[]; totalSize: number }> => {
  const { body } = await client.call('GET', `/a2a/worker/tasks?${query}`, undefined, { 'a2a-version': '1.0' });
  const tasks: { id: string; status: { state: string } }[] = body.tasks;
  return {
    ids: tasks.map(({ id }) => id),
    states: tasks.map(({ status }) => status.state.replace('TASK_STATE_', '')),
    totalSize: body.totalSize,
  };
};

describe('The tasks of an A2A client on one machine', () => {
  it('are listed by their last change without a record of their own, also after a restart', async (t) => {
    const parley = await testParley(t);
    const client = await parley.agent('client', { dialect: 'a2a', capabilities: [] });
    const worker = await parley.agent('worker', { capabilities: [] });
    const ids: string[] = [];
    for (const context of ['one', 'two', 'one']) {
      ids.push(await send(client, context));
      parley.clock.advance(1000);
    }
    const [first = '', second = '', third = ''] = ids;
    assert.deepEqual(await list(client), {
      ids: [third, second, first],
      states: ['SUBMITTED', 'SUBMITTED', 'SUBMITTED'],
      totalSize: 3,
    });
    assert.equal((await worker.claimed(first)).status, 202);
    const claimed = { ids: [first, third, second], states: ['WORKING', 'SUBMITTED', 'SUBMITTED'], totalSize: 3 };
    assert.deepEqual(await list(client), claimed);
    for (const id of ids) assert.equal(await parley.parley.deps.records.get(listingRef('default', id)), undefined);
    await parley.restart();
    assert.deepEqual(await list(client), claimed);
    assert.deepEqual((await list(client, 'status=TASK_STATE_WORKING')).ids, [first]);
    assert.deepEqual((await list(client, 'contextId=one')).ids, [first, third]);
    const page = await client.call('GET', '/a2a/worker/tasks?pageSize=2', undefined, { 'a2a-version': '1.0' });
    assert.deepEqual((await list(client, `pageSize=2&pageToken=${page.body.nextPageToken}`)).ids, [second]);
  });

  it('that have ended are gone from their lists with the tasks', async (t) => {
    const parley = await testParley(t);
    const client = await parley.agent('client', { dialect: 'a2a', capabilities: [] });
    const worker = await parley.agent('worker', { capabilities: [] });
    const id = await send(client);
    await worker.claimed(id);
    await worker.complete(id);
    assert.deepEqual(await list(client), { ids: [id], states: ['COMPLETED'], totalSize: 1 });
    parley.clock.advance(8 * 24 * 3600_000);
    assert.deepEqual(await list(client), { ids: [], states: [], totalSize: 0 });
    const later = await send(client);
    await parley.restart();
    assert.deepEqual(await list(client), { ids: [later], states: ['SUBMITTED'], totalSize: 1 });
  });

  it('of format 9, which stored a record for each place in the list, are listed once after the migration', async (t) => {
    const parley = await testParley(t);
    const client = await parley.agent('client', { dialect: 'a2a', capabilities: [] });
    await parley.agent('worker', { capabilities: [] });
    const id = await send(client);
    await parley.parley.stop();
    const sql = new DatabaseSync(join(parley.dir, 'parley.db'));
    const { pk } = listingRef('default', id);
    const listing = { pk, sk: 'listing', project: 'default', id, version: 1, status: 'TASK_STATE_SUBMITTED' };
    const body = JSON.stringify({ ...listing, requester: 'client', conversation: 'one', changedAt: 1, v: 1, at: 1 });
    sql.prepare("INSERT INTO records (pk, sk, body) VALUES (?, 'listing', ?)").run(pk, body);
    sql.exec('DELETE FROM listed; PRAGMA user_version = 9');
    sql.close();
    await parley.restart();
    assert.deepEqual(await list(client), { ids: [id], states: ['SUBMITTED'], totalSize: 1 });
    assert.equal(await parley.parley.deps.records.get(listingRef('default', id)), undefined);
  });
});
