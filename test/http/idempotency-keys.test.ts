import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../shared/http/routes/routes.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { Caller, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';

const WANTED = { filter: { type: 'none' } };

const keyed = (caller: Caller, key: string, body: object = WANTED, path = '/v1/tasks/cancel') =>
  caller.call('POST', path, body, { 'idempotency-key': key });

const operationsOf = async (caller: Caller): Promise<string[]> =>
  (await caller.call('GET', '/v1/operations')).body.operations.map((one: { operationId: string }) => one.operationId);

const endedTask = async (requester: TestAgent): Promise<string> => {
  const id = await requester.request();
  assert.equal((await requester.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
  return id;
};

describe('a call with an Idempotency-Key', () => {
  it('is executed once, and answered the same each time, also after a restart', async (t) => {
    const parley = await testParley(t);
    const { admin } = parley;
    const first = await keyed(admin, 'one');
    assert.deepEqual([first.status, first.headers['idempotency-replayed']], [202, undefined]);
    const second = await keyed(admin, 'one');
    assert.deepEqual([second.status, second.body], [first.status, first.body]);
    assert.equal(second.headers['idempotency-replayed'], 'true');
    await parley.restart();
    assert.deepEqual((await keyed(admin, 'one')).body, first.body);
    assert.deepEqual(await operationsOf(admin), [first.body.operationId]);
    const other = await keyed(admin, 'two');
    assert.notEqual(other.body.operationId, first.body.operationId);
  });

  it('is refused with another body, path or query, and changes nothing then', async (t) => {
    const { admin, agent } = await testParley(t);
    const requester = await agent('requester');
    const id = await endedTask(requester);
    const { body } = await keyed(admin, 'one');
    assertRefused(await keyed(admin, 'one', { filter: { type: 'other' } }), 409, 'id_reused');
    assertRefused(await keyed(admin, 'one', WANTED, '/v1/tasks/retry'), 409, 'id_reused');
    assert.deepEqual(await operationsOf(admin), [body.operationId]);
    assert.equal((await keyed(requester, 'rerun', {}, `/v1/tasks/${id}/rerun`)).status, 202);
    assertRefused(await keyed(requester, 'rerun', { priority: 'low' }, `/v1/tasks/${id}/rerun`), 409, 'id_reused');
    assert.equal((await admin.call('GET', '/v1/tasks?count=true')).body.count.value, 2);
  });

  it('belongs to its caller', async (t) => {
    const { admin, agent } = await testParley(t);
    const [one, other] = [await agent('one'), await agent('other')];
    const ids = await Promise.all(
      [admin, one, other].map(async (caller) => (await keyed(caller, 'k')).body.operationId),
    );
    assert.equal(new Set(ids).size, 3);
  });

  it('may be corrected after a refusal, and must be well-formed', async (t) => {
    const { admin } = await testParley(t);
    assertRefused(await keyed(admin, 'one', { filter: { type: 'x', status: ['failed'] } }), 400, 'invalid_request');
    assert.equal((await keyed(admin, 'one')).status, 202);
    for (const key of ['', 'a b', 'ü', 'x'.repeat(256)]) assertRefused(await keyed(admin, key), 400, 'invalid_request');
  });

  it('is told to wait while the first one is being executed, and then gets its answer', async (t) => {
    const { agent } = await testParley(t);
    const chef = await agent('chef', { dialect: 'task-format' });
    const cook = await agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const request = tfRequest({ routing: { source: 'chef', target: 'cook' } });
    const call = () => keyed(chef, 'one', request, '/v1/tasks?wait=20');
    const first = call();
    await eventually(async () => assert.equal((await cook.claim({ max: 1 })).length, 1));
    const meanwhile = await call();
    assertRefused(meanwhile, 409, 'call_in_progress');
    assert.equal(meanwhile.headers['retry-after'], '1');
    await cook.send({ id: request.id, status: 'completed', result: 7 });
    assert.equal((await first).body.result, 7);
    const again = await call();
    assert.deepEqual([again.body.result, again.headers['idempotency-replayed']], [7, 'true']);
  });

  it('creates nothing twice if a crash took its answer, and is free after 24 hours', async (t) => {
    let isBroken = true;
    const wrapPorts = (ports: Ports): Ports => ({
      ...ports,
      records: {
        ...ports.records,
        update: (ref, change, ...more) => {
          if (isBroken && change.set?.response !== undefined)
            throw new ParleyError('conflict', 'as the test wanted it');
          return ports.records.update(ref, change, ...more);
        },
      },
    });
    const { admin, agent, clock } = await testParley(t, { wrapPorts });
    const requester = await agent('requester');
    const path = `/v1/tasks/${await endedTask(requester)}/rerun`;
    assert.ok((await keyed(admin, 'one')).status >= 400);
    assert.ok((await keyed(requester, 'two', {}, path)).status >= 400);
    isBroken = false;
    assertRefused(await keyed(admin, 'one'), 409, 'call_in_progress');
    clock.advance(30_000);
    const again = await keyed(admin, 'one');
    assert.equal(again.status, 202);
    assert.deepEqual(await operationsOf(admin), [again.body.operationId]);
    const rerun = await keyed(requester, 'two', {}, path);
    assert.deepEqual([rerun.status, rerun.body.state], [200, 'requested']);
    assert.equal((await admin.call('GET', '/v1/tasks?count=true')).body.count.value, 2);
    clock.advance(24 * 3600_000);
    assert.notEqual((await keyed(admin, 'one')).body.operationId, again.body.operationId);
  });

  it('is one mechanism for every POST but those that say why not', async (t) => {
    const { admin } = await testParley(t);
    const document = (await admin.call('GET', '/openapi.json')).body;
    const without = routes
      .filter(({ method, path, isForeign }) => method === 'POST' && !isForeign && !takesKey(document, path))
      .map(({ path }) => path);
    assert.deepEqual(without.toSorted(), [
      '/v1/agents/{id}/key',
      '/v1/claims',
      '/v1/keys',
      '/v1/keys/{name}/rotate',
      '/v1/projects/{name}/key',
      '/v1/relay/key',
      '/v1/relay/render',
    ]);
    for (const path of ['/v1/relay/key', '/v1/agents/none/key']) {
      const reply = await admin.call('POST', path, undefined, { 'idempotency-key': 'one' });
      assertRefused(reply, 400, 'invalid_request');
    }
  });
});

interface Described {
  paths: Record<string, { post?: { parameters?: { name: string }[] } }>;
}

const takesKey = ({ paths }: Described, path: string): boolean =>
  paths[path]?.post?.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false;
