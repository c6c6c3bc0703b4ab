import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../shared/http/routes/routes.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';

/** Calls that change something and bring nothing in that others act on: they take, or keep what was taken. */
const NOT_GATED = [
  'POST /v1/claims',
  'POST /v1/consumers/{name}/ack',
  'POST /v1/consumers/{name}/events',
  'POST /v1/consumers/{name}/rewind',
  'POST /v1/inbox/ack',
  'POST /v1/relay/render',
  'POST /v1/tasks/{id}/renew',
  'POST /v1/turns/lease',
];

describe('the gate', () => {
  it('stands before every call that brings something in', () => {
    const beside = routes.filter(({ method, hasIngressChecks }) => method !== 'GET' && !hasIngressChecks);
    assert.deepEqual(beside.map(({ method, path }) => `${method} ${path}`).toSorted(), NOT_GATED);
    assert.deepEqual(
      routes.filter(({ method, hasIngressChecks }) => method === 'GET' && hasIngressChecks),
      [],
    );
  });
});

describe('a lease', () => {
  it('that a stranger sends about a task is about none that it knows of, and who held it once is told the truth', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim', { capabilities: [] }), await parley.agent('galahad')];
    const [kay, mordred] = [await parley.agent('kay'), await parley.agent('mordred', { capabilities: [] })];
    const id = await tim.request();
    await galahad.claim();
    for (const report of [mordred.complete(id), mordred.fail(id), mordred.claimed(id)]) {
      const { status, body } = await report;
      assert.deepEqual([status, body.code], [404, 'task_not_found']);
    }
    assert.equal((await kay.complete(id)).body.code, 'not_holder');
  });

  it('that a stranger wants to renew is of no task that it knows of', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, mordred] = [
      await parley.agent('tim'),
      await parley.agent('galahad'),
      await parley.agent('mordred'),
    ];
    const id = await tim.request({ to: 'galahad' });
    assert.equal((await galahad.claim()).length, 1);
    const renew = (path: string) => mordred.call('POST', `/v1/tasks/${path}/renew`);
    const [there, nowhere] = [await renew(id), await renew('ffffffff-0000-4000-8000-000000000000')];
    assertRefused(there, 404, 'task_not_found');
    assert.deepEqual(Object.keys(there.body).toSorted(), Object.keys(nowhere.body).toSorted());
    assert.equal((await galahad.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
  });
});
