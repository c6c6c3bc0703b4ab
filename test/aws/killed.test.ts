import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { z } from 'zod';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { broken, by, unanswered } from './faults.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley({ after }, { timeouts: { ingest: 8, claims: 6, dispatch: 8, due: 8 } });

const PATIENCE_MS = 60_000;
const DueItem = z.object({ Item: z.object({ due: z.object({ N: z.string() }) }) });

const requester = () => parley.agent(`tim-${randomUUID()}`, {});
/** One that serves no domain, so that each test sees only its own tasks. */
const worker = () => parley.agent(`galahad-${randomUUID()}`, {});
const serving = (domain: string) => parley.agent(`lance-${randomUUID()}`, { domains: [domain] });

const idsOf = (tasks: { message: { id: string } }[]): string[] => tasks.map(({ message }) => message.id);

const claimAll = async (agent: TestAgent, count: number): Promise<string[]> => {
  const ids: string[] = [];
  await eventually(async () => {
    ids.push(...idsOf(await agent.claim({ max: 10, wait: 2 })));
    assert.ok(ids.length >= count, `only ${ids.length} of ${count} came`);
  }, PATIENCE_MS);
  return ids;
};

/** Claims and completes: what is left would come to others when its lease is over. */
const workOff = async (agent: TestAgent, count: number): Promise<string[]> => {
  const ids = await claimAll(agent, count);
  const replies = await Promise.all(ids.map((id) => agent.complete(id)));
  assert.ok(replies.every(({ status }) => status === 202));
  return ids;
};

const eventsOf = async (agent: TestAgent, type: string): Promise<{ id: string; data: { taskId: string } }[]> => {
  const { status, body } = await agent.call('GET', `/v1/events?type=${type}&limit=500`);
  assert.equal(status, 200);
  return body.events;
};

describe('nothing is lost and nothing is doubled', { concurrency: 1 }, () => {
  it('where every send of the fast path fails: the dispatcher sends', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const fault = broken(parley, by('ingest', 'SendMessageBatch'));
    const payload = { task: 'home.status' };
    const ids = await Promise.all(Array.from({ length: 12 }, () => tim.request({ payload })));
    assert.ok(fault.met >= 12, `only ${fault.met} sends failed`);
    assert.deepEqual((await workOff(lance, 12)).sort(), ids.sort());
    fault.end();
    assert.deepEqual(await lance.claim({ wait: 1 }), []);
  });

  it('where ingest ends between its write and its send', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const message = taskRequest(tim.id, { payload: { task: 'home.status' } });
    const fault = unanswered(parley, by('ingest', 'SendMessageBatch'));
    assert.ok((await tim.send(message)).status >= 500);
    assert.ok(fault.met > 0);
    fault.end();
    const again = await tim.send(message);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.deepEqual(await workOff(lance, 1), [message.id]);
    assert.deepEqual(await lance.claim({ wait: 1 }), []);
  });

  it('where ingest ends before its write: the message can be sent again', async () => {
    const [tim, galahad] = [await requester(), await worker()];
    const message = taskRequest(tim.id, { to: galahad.id });
    const fault = unanswered(parley, by('ingest', 'PutItem'));
    assert.ok((await tim.send(message)).status >= 500);
    assert.ok(fault.met > 0);
    fault.end();
    const again = await tim.send(message);
    assert.deepEqual([again.status, again.body.duplicate], [202, false]);
    assert.deepEqual(await workOff(galahad, 1), [message.id]);
    assert.deepEqual(await galahad.claim({ wait: 1 }), []);
  });

  it('where claims ends between its write and its answer: the same claim brings the same task', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    assert.deepEqual(await lance.claim(), []);
    const id = await tim.request({ payload: { task: 'home.status' } });
    const claim = { claimId: randomUUID(), wait: 5 };
    const fault = unanswered(parley, by('claims', 'DeleteMessageBatch'));
    assert.ok((await lance.call('POST', '/v1/claims', claim)).status >= 500);
    assert.ok(fault.met > 0);
    fault.end();
    const tasks = await lance.claim(claim);
    assert.deepEqual(idsOf(tasks), [id]);
    assert.equal(tasks[0].attempt, 1);
    assert.equal((await lance.complete(id)).status, 202);
    assert.deepEqual(idsOf(await lance.claim({ wait: 1 })), []);
    assert.equal((await tim.task(id)).attempt, 1);
  });

  it('where dispatch ends in the middle of a batch, twice', async () => {
    const [tim, galahad] = [await requester(), await worker()];
    const ids = await Promise.all(Array.from({ length: 6 }, () => tim.request({ to: galahad.id })));
    assert.equal((await claimAll(galahad, 6)).length, 6);
    const before = parley.trouble.length;
    const fault = unanswered(parley, by('dispatch', 'PutEvents'));
    const failed = await Promise.all(ids.map((id) => galahad.fail(id, { error: 'skill_missing', message: 'no' })));
    assert.ok(failed.every(({ status }) => status === 202));
    await eventually(() => {
      const ends = parley.trouble.slice(before).filter((line) => line.includes('dispatch failed: Sandbox.Timedout'));
      assert.ok(ends.length >= 2, parley.trouble.join('\n'));
    }, PATIENCE_MS);
    fault.end();
    await eventually(async () => assert.equal((await tim.inbox()).length, 6), PATIENCE_MS);
    await eventually(async () => {
      const told = new Set((await eventsOf(tim, 'task.failed')).map(({ data }) => data.taskId));
      assert.deepEqual([...told].sort(), ids.toSorted());
    }, PATIENCE_MS);
    const inbox = await tim.inbox();
    assert.deepEqual(inbox.map(({ correlationId }) => correlationId).sort(), ids.toSorted());
    // The same event may be told again, under the same id.
    assert.equal(new Set((await eventsOf(tim, 'task.failed')).map(({ id }) => id)).size, 6);
    for (const id of ids) {
      const { history } = await tim.task(id);
      assert.deepEqual(
        history.map(({ event }: { event: string }) => event),
        ['requested', 'claimed', 'failed'],
      );
    }
  });

  it('where due ends in the middle of a page of a bulk operation', async () => {
    const tim = await requester();
    const sent = Array.from({ length: 110 }, (_, index) => index);
    for (let at = 0; at < sent.length; at += 10)
      await Promise.all(sent.slice(at, at + 10).map(() => tim.request({ payload: { task: 'home.status' } })));
    const filter = { requester: tim.id };
    await eventually(async () => {
      const { body } = await tim.call('POST', '/v1/tasks/cancel', { filter, dryRun: true });
      assert.equal(body.count?.value, 110);
    }, PATIENCE_MS);
    let writes = 0;
    const isLate = by('due', 'UpdateItem');
    const fault = unanswered(parley, (call) => isLate(call) && ++writes > 60);
    const { operationId } = (await tim.call('POST', '/v1/tasks/cancel', { filter })).body;
    const path = `/v1/operations/${operationId}`;
    await eventually(
      () => assert.ok(parley.trouble.some((line) => line.includes('due failed: Sandbox.Timedout'))),
      PATIENCE_MS,
    );
    fault.end();
    assert.partialDeepStrictEqual((await tim.call('GET', path)).body, { status: 'running', changed: 0 });
    // As the sweep does, sooner than the queue.
    const key = { pk: { S: `default#operation#${operationId}` }, sk: { S: 'operation' } };
    const { Item } = DueItem.parse(await parley.aws('dynamodb', 'GetItem', { TableName: parley.table, Key: key }));
    const body = JSON.stringify({ pk: key.pk.S, sk: key.sk.S, due: Number(Item.due.N) });
    await parley.ask('due', { Records: [{ messageId: randomUUID(), body }] });
    await eventually(async () => {
      const { body } = await tim.call('GET', path);
      assert.partialDeepStrictEqual(body, { status: 'completed', changed: 110, skipped: 0, failed: 0 });
    }, PATIENCE_MS);
  });
});
