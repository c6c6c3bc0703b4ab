import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const claimedIds = async (agent: TestAgent, options: object = {}): Promise<string[]> =>
  (await agent.claim(options)).map(({ message }) => message.id);

describe('Round Table priorities', () => {
  it('gives tasks in the order critical, high, normal, low', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const ids: Record<string, string> = {};
    for (const priority of ['low', 'normal', 'critical', 'high']) ids[priority] = await tim.request({ priority });
    const order: string[] = [];
    for (let claims = 0; claims < 4; claims++) {
      const [id = 'nothing'] = await claimedIds(galahad);
      order.push(id);
      await galahad.complete(id);
    }
    assert.deepEqual(order, [ids.critical, ids.high, ids.normal, ids.low]);
  });

  it('gives tasks in the order of priorities across domains', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const galahad = await agent('galahad', { domains: ['security', 'home'] });
    const normal = await tim.request();
    const critical = await tim.request({ priority: 'critical', payload: { task: 'home.scene' } });
    assert.deepEqual(await claimedIds(galahad, { max: 2 }), [critical, normal]);
  });

  it('gives tasks of one priority in the order of their requests', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const ids: string[] = [];
    for (let sent = 0; sent < 12; sent++) ids.push(await tim.request());
    const order = [...(await claimedIds(galahad, { max: 10 })), ...(await claimedIds(galahad, { max: 10 }))];
    assert.deepEqual(order, ids);
  });

  it('gives low tasks one at a time, and only to an agent that holds nothing', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad, kay] = [await agent('tim'), await agent('galahad'), await agent('kay')];
    const normal = await tim.request();
    const low = [await tim.request({ priority: 'low' }), await tim.request({ priority: 'low' })];
    assert.deepEqual(await claimedIds(galahad, { max: 10 }), [normal]);
    assert.deepEqual(await claimedIds(galahad, { max: 10 }), []);
    assert.deepEqual(await claimedIds(kay, { max: 10 }), [low[0]]);
    assert.deepEqual(await claimedIds(kay, { max: 10 }), []);
    await galahad.complete(normal);
    assert.deepEqual(await claimedIds(galahad, { max: 10 }), [low[1]]);
  });

  it('withholds a low task from a busy agent, also if it is addressed to that agent', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const normal = await tim.request();
    const low = await tim.request({ priority: 'low', to: 'galahad' });
    assert.deepEqual(await claimedIds(galahad), [normal]);
    assert.deepEqual(await claimedIds(galahad), []);
    await galahad.complete(normal);
    assert.deepEqual(await claimedIds(galahad), [low]);
  });

  it('gives high and critical tasks to a busy agent', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const normal = await tim.request();
    assert.deepEqual(await claimedIds(galahad), [normal]);
    const critical = await tim.request({ priority: 'critical' });
    assert.deepEqual(await claimedIds(galahad), [critical]);
    assert.equal((await tim.task(normal)).state, 'claimed');
  });

  it('tells a busy agent with its progress how many more urgent tasks wait for it', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, galahad, kay] = [
      await agent('tim'),
      await agent('galahad'),
      await agent('kay', { domains: ['intel'] }),
    ];
    const waiting = async (id: string) => (await galahad.progress(id)).body.waiting;
    const normal = await tim.request();
    assert.deepEqual(await claimedIds(galahad), [normal]);
    await tim.request({ priority: 'low' });
    await tim.request();
    await tim.request({ priority: 'critical', to: 'kay' });
    assert.equal(await waiting(normal), undefined);
    const high = await tim.request({ priority: 'high' });
    for (let sent = 0; sent < 12; sent++) await tim.request({ priority: 'critical', to: 'galahad' });
    assert.deepEqual(await waiting(normal), { critical: 10, high: 1 });
    assert.equal((await admin.call('POST', `/v1/tasks/${high}/cancel`)).status, 200);
    const [critical = ''] = await claimedIds(galahad);
    assert.equal(await waiting(critical), undefined);
    assert.equal((await kay.claim()).length, 1);
  });

  it('gives a low task to a waiting claim once its agent is idle', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const normal = await tim.request();
    assert.deepEqual(await claimedIds(galahad), [normal]);
    const low = await tim.request({ priority: 'low' });
    const waiting = claimedIds(galahad, { wait: 20 });
    await galahad.complete(normal);
    let claimed: string[] | undefined;
    void waiting.then((ids) => (claimed = ids));
    await eventually(() => {
      clock.advance(100);
      assert.notEqual(claimed, undefined);
    });
    assert.deepEqual(claimed, [low]);
  });
});
