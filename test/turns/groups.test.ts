import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, eventsOf, groundAgent, headOf, Worker } from '../support/ground.ts';
import { taskFormat } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('agent of several groups', () => {
  it('leases the oldest turn of all groups of the agent', async (t) => {
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

  it('leases one turn at a time when two workers of an agent lease a group turn and an own turn at once', async (t) => {
    let meanwhile: (() => Promise<void>) | undefined;
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: async (writes, token) => {
            const first = meanwhile;
            meanwhile = undefined;
            await first?.();
            return ports.records.transact(writes, token);
          },
        },
      }),
    });
    const slow = new Worker(await groundAgent(parley, 'scribe-1', { capabilities: ['scribes'] }));
    const fast = new Worker(slow.agent);
    await enqueued(parley.admin, 'scribe-1');
    await slow.deliver(await slow.begin());
    const forGroup = await enqueued(parley.admin, 'scribes');
    let own = '';
    meanwhile = async () => {
      own = await enqueued(parley.admin, 'scribe-1');
      assert.equal((await fast.take()).agent_turn_id, own);
    };
    assert.equal(await slow.lease(), undefined);
    const { active_agent_turn_id, turn_epoch } = await headOf(parley.admin, 'scribe-1');
    assert.deepEqual([active_agent_turn_id, turn_epoch], [own, 2]);
    await fast.ok({ agent_turn_id: own, turn_epoch, inbox: [] }, 'stop');
    assert.equal((await slow.take()).agent_turn_id, forGroup);
  });

  it('queries all groups of an agent in parallel and rejects a registration with too many of them', async (t) => {
    let [under, most, all] = [0, 0, 0];
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          query: async (query) => {
            if (!query.pk.includes('#turns#')) return ports.records.query(query);
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

describe('group with agents of other dialects', () => {
  it('rejects a turn for a group that has no CommonGround agent', async (t) => {
    const parley = await testParley(t);
    await parley.agent('cook', { ...taskFormat, capabilities: ['chefs'] });
    const reply = await parley.admin.call('POST', '/v1/turns', called('chefs'));
    assert.deepEqual([reply.status, reply.body.code], [422, 'unknown_agent']);
    const chef = new Worker(await groundAgent(parley, 'chef', { capabilities: ['chefs'] }));
    await enqueued(parley.admin, 'chefs');
    await chef.deliver(await chef.begin());
  });

  it('sends the wake-ups of a group only to its CommonGround agents', async (t) => {
    const parley = await testParley(t);
    for (let n = 0; n < 8; n++) await parley.agent(`cook-${n}`, { ...taskFormat, capabilities: ['chefs'] });
    await groundAgent(parley, 'chef', { capabilities: ['chefs'] });
    for (let n = 0; n < 4; n++) await enqueued(parley.admin, 'chefs');
    const rung = await eventually(async () => {
      const bells = await eventsOf(parley.admin, 'cmd.agent.wakeup');
      assert.equal(bells.length, 4);
      return bells;
    });
    assert.deepEqual([...new Set(rung.map(({ data }) => data.payload.agent_id))], ['chef']);
  });
});
