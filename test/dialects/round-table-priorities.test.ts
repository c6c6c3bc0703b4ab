import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const claimedIds = async (agent: TestAgent, options: object = {}): Promise<string[]> =>
  (await agent.claim(options)).map(({ message }) => message.id);

describe('priorities', () => {
  it('are claimed critical before high before normal before low', async (t) => {
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

  it('come in order across domains', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const galahad = await agent('galahad', { domains: ['security', 'home'] });
    const normal = await tim.request();
    const critical = await tim.request({ priority: 'critical', payload: { task: 'home.scene' } });
    assert.deepEqual(await claimedIds(galahad, { max: 2 }), [critical, normal]);
  });

  it('are first in, first out within one', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const ids: string[] = [];
    for (let sent = 0; sent < 12; sent++) ids.push(await tim.request());
    const order = [...(await claimedIds(galahad, { max: 10 })), ...(await claimedIds(galahad, { max: 10 }))];
    assert.deepEqual(order, ids);
  });

  it('give low work, one piece at a time, only to an agent that holds nothing', async (t) => {
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

  it('keep low work from a busy agent also where it is directed to it', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const normal = await tim.request();
    const low = await tim.request({ priority: 'low', to: 'galahad' });
    assert.deepEqual(await claimedIds(galahad), [normal]);
    assert.deepEqual(await claimedIds(galahad), []);
    await galahad.complete(normal);
    assert.deepEqual(await claimedIds(galahad), [low]);
  });

  it('let high and critical work be claimed beside what is held', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const normal = await tim.request();
    assert.deepEqual(await claimedIds(galahad), [normal]);
    const critical = await tim.request({ priority: 'critical' });
    assert.deepEqual(await claimedIds(galahad), [critical]);
    assert.equal((await tim.task(normal)).state, 'claimed');
  });

  it('bring low work to a claim that was waiting when its agent became idle', async (t) => {
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
