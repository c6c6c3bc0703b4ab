import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../shared/http/routes/routes.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';

/** Calls that change state but bring no message in. Those of MCP bring theirs in by other calls, which have the checks. */
const NOT_GATED = [
  'POST /mcp',
  'POST /mcp/{agent}',
  'POST /v1/claims',
  'POST /v1/consumers/{name}/ack',
  'POST /v1/consumers/{name}/events',
  'POST /v1/consumers/{name}/rewind',
  'POST /v1/inbox/ack',
  'POST /v1/relay/render',
  'POST /v1/tasks/{id}/renew',
  'POST /v1/turns/lease',
];

describe('ingress checks', () => {
  it('applies ingress checks to every call that brings messages in, and to no other', () => {
    // Those of A2A check each message that they bring in: `test/a2a` sends them without a signature.
    const own = routes.filter(({ path }) => !path.startsWith('/a2a'));
    const beside = own.filter(({ method, hasIngressChecks }) => method !== 'GET' && !hasIngressChecks);
    assert.deepEqual(beside.map(({ method, path }) => `${method} ${path}`).toSorted(), NOT_GATED);
    assert.deepEqual(
      routes.filter(({ method, hasIngressChecks }) => method === 'GET' && hasIngressChecks),
      [],
    );
  });
});

describe('reports and renewals of other agents', () => {
  it('hides a task from an agent without access that reports on it, and tells a provider that it is not the holder', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester', { capabilities: [] }), await parley.agent('worker')];
    const [otherWorker, intruder] = [
      await parley.agent('other-worker'),
      await parley.agent('intruder', { capabilities: [] }),
    ];
    const id = await requester.request();
    await worker.claim();
    for (const report of [intruder.complete(id), intruder.fail(id), intruder.claimed(id)]) {
      const { status, body } = await report;
      assert.deepEqual([status, body.code], [404, 'task_not_found']);
    }
    assert.equal((await otherWorker.complete(id)).body.code, 'not_holder');
  });

  it('hides a task from an agent without access that renews its lease', async (t) => {
    const parley = await testParley(t);
    const [requester, worker, intruder] = [
      await parley.agent('requester'),
      await parley.agent('worker'),
      await parley.agent('intruder'),
    ];
    const id = await requester.request({ to: 'worker' });
    assert.equal((await worker.claim()).length, 1);
    const renew = (path: string) => intruder.call('POST', `/v1/tasks/${path}/renew`);
    const [there, nowhere] = [await renew(id), await renew('ffffffff-0000-4000-8000-000000000000')];
    assertRefused(there, 404, 'task_not_found');
    assert.deepEqual(Object.keys(there.body).toSorted(), Object.keys(nowhere.body).toSorted());
    assert.equal((await worker.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
  });
});
