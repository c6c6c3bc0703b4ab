import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

describe('an agent of several groups', () => {
  it('is given the oldest turn of any of them, so that none starves behind another', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(
      await groundAgent(parley, 'scribe-1', { capabilities: ['a', 'b', 'c'], channels: ['public', 't_round'] }),
    );
    const wanted: string[] = [];
    for (const [group, channel_id] of [
      ['c', 't_round'],
      ['b', 'public'],
      ['a', 'public'],
      ['c', 'public'],
      ['a', 't_round'],
    ] as const) {
      wanted.push(await enqueued(parley.admin, group, { channel_id }));
      parley.clock.advance(1);
    }
    const taken: string[] = [];
    for (const _ of wanted) {
      const held = await worker.begin();
      taken.push(held.agent_turn_id);
      await worker.deliver(held);
    }
    assert.deepEqual(taken, wanted);
  });

  it('asks for all of them at once, and for no more than its registration may name', async (t) => {
    let [under, most, all] = [0, 0, 0];
    const parley = await testParley(t, {
      through: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          query: async (query) => {
            if (!query.p.includes('#turns#')) return ports.records.query(query);
            all++;
            most = Math.max(most, ++under);
            const found = await ports.records.query<never>(query);
            under--;
            return found;
          },
        },
      }),
    });
    const names = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}_${n}`);
    const channels = names('t', 16);
    const worker = new Worker(await groundAgent(parley, 'scribe-1', { capabilities: names('g', 4), channels }));
    assert.equal(await worker.lease(), undefined);
    assert.deepEqual([most, all], [64, 65]);
    const changed = (registration: object) => parley.admin.call('PUT', '/v1/agents/scribe-1', registration);
    const tooMany = { dialect: 'common-ground', capabilities: names('g', 5), channels };
    const refused = await changed(tooMany);
    assert.deepEqual([refused.status, refused.body.code, refused.body.limit], [413, 'too_large', 64]);
    assert.equal((await changed({ ...tooMany, dialect: 'round-table' })).status, 200, 'it takes no turns');
  });
});
