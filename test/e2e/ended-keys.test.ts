import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TestAgent } from '../support/api.ts';
import { deployment } from './deployment.ts';

const { admin, agent, transport } = await deployment();

/** Sent after the others, so that once it is answered they wait. */
const roundTrip = () => admin.call('GET', '/v1/agents?limit=1');

// Whoever is not told of the end waits out its time, and is answered with 200 and nothing.
describe('calls that wait', () => {
  it('end with their key, and are handed nothing that comes after', async () => {
    const [tim, eve, worker] = [await agent('tim'), await agent('eve'), await agent('worker')];
    const asked = await eve.request({ to: worker.id });
    const waiting = [
      eve.call('POST', '/v1/claims', { wait: 20 }),
      eve.call('GET', '/v1/inbox?wait=20&mode=take'),
      eve.call('GET', `/v1/tasks/${asked}?wait=20`),
    ];
    await roundTrip();
    const { body } = await admin.call('POST', `/v1/agents/${eve.id}/key`);
    for (const reply of await Promise.all(waiting)) {
      assert.equal(`${reply.status} ${reply.body?.code}`, '401 unauthorized', JSON.stringify(reply.body));
    }
    const id = await tim.request({ to: eve.id });
    await worker.complete(asked);
    const renewed = new TestAgent(eve.id, body.key, transport);
    assert.equal((await renewed.claim({ wait: 10 }))[0].message.id, id);
    assert.equal((await renewed.inbox(20)).length, 1);
  });

  it('end with their agent, whose name nobody gets by chance', async () => {
    const [tim, eve] = [await agent('tim'), await agent('eve')];
    const waiting = eve.call('POST', '/v1/claims', { wait: 20 });
    await roundTrip();
    assert.equal((await admin.call('DELETE', `/v1/agents/${eve.id}`)).status, 204);
    assert.equal((await waiting).status, 401);
    const registration = { dialect: 'round-table' };
    const refused = await admin.call('PUT', `/v1/agents/${eve.id}`, registration);
    assert.equal(`${refused.status} ${refused.body.code}`, '409 agent_removed');
    const again = await admin.call('PUT', `/v1/agents/${eve.id}?inherit=true`, registration);
    assert.equal(again.status, 201);
    const heir = new TestAgent(eve.id, again.body.key, transport);
    const task = await tim.request({ to: eve.id });
    assert.equal((await heir.claim({ wait: 10 }))[0].message.id, task);
  });
});
