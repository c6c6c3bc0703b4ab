import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { inTurns } from '../support/in-turns.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

describe('bulk operations', () => {
  it('cancel the tasks of a conversation, and retry those that failed, in one call each', async () => {
    const [chef, cook] = [
      await agent('chef', { dialect: 'task-format' }),
      await agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] }),
    ];
    const conversationId = randomUUID();
    const request = () => tfRequest({ context: { conversationId }, routing: { source: chef.id, target: cook.id } });
    const ids = await inTurns([1, 2, 3], async () => {
      const message = request();
      assert.equal((await chef.send(message)).status, 202);
      return message.id;
    });
    const filter = { conversation: conversationId };
    await eventually(async () => {
      const { body } = await chef.call('POST', '/v1/tasks/cancel', { filter, dryRun: true });
      assert.equal(body.count?.value, 3);
    }, 30_000);
    const ending = async (kind: string, body: object): Promise<object> => {
      const started = await chef.call('POST', `/v1/tasks/${kind}`, body);
      assert.equal(started.status, 202, JSON.stringify(started.body));
      const path = `/v1/operations/${started.body.operationId}`;
      return eventually(async () => {
        const ended = (await chef.call('GET', `${path}?wait=20`)).body;
        assert.equal(ended.status, 'completed');
        return ended;
      }, 60_000);
    };
    const [{ message }] = await cook.claim({ wait: 20, max: 1 });
    const error = { code: 'bad_input', message: 'no', recoverable: false };
    assert.equal((await cook.send({ id: message.id, status: 'failed', error })).status, 202);
    await eventually(async () => {
      const { body } = await chef.call('POST', '/v1/tasks/cancel', { filter, dryRun: true });
      assert.equal(body.count?.value, 2);
    }, 30_000);
    assert.partialDeepStrictEqual(await ending('cancel', { filter, reason: 'no guests' }), { changed: 2, failed: 0 });
    for (const id of ids) assert.equal((await chef.task(id)).state, id === message.id ? 'failed' : 'cancelled');
    await eventually(async () => {
      const { body } = await chef.call('POST', '/v1/tasks/retry', { filter, dryRun: true });
      assert.equal(body.count?.value, 1);
    }, 30_000);
    assert.partialDeepStrictEqual(await ending('retry', { filter }), { changed: 1 });
    const listed = await eventually(async () => {
      const { body } = await chef.call('GET', '/v1/operations?status=completed&limit=100');
      assert.equal(body.operations.length, 2);
      return body.operations;
    }, 30_000);
    assert.deepEqual(
      listed.map(({ kind }: { kind: string }) => kind),
      ['retry', 'cancel'],
    );
    const [again] = await cook.claim({ wait: 20, max: 1 });
    assert.equal(again.message.id, message.id);
    const cancelled = ids.find((id) => id !== message.id) ?? '';
    const rerun = await chef.call('POST', `/v1/tasks/${cancelled}/rerun`, { input: { dish: 'soup' } });
    assert.deepEqual([rerun.status, rerun.body.rerunOf], [202, cancelled]);
    assert.equal((await chef.task(cancelled)).rerunAs, rerun.body.id);
    const path = `/v1/operations/${listed[0].operationId}/stop`;
    assert.equal((await chef.call('POST', path)).body.status, 'completed');
    const headers = { 'idempotency-key': randomUUID() };
    const body = { filter };
    const twice = [
      await chef.call('POST', '/v1/tasks/cancel', body, headers),
      await chef.call('POST', '/v1/tasks/cancel', body, headers),
    ];
    assert.deepEqual(twice[1]?.body, twice[0]?.body);
  });
});
