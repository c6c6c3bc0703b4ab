import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
import { kitchen } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const NEEDS = { soup: [], salad: [], roast: ['soup', 'salad'], bill: ['roast'] };
const WANTED = { soup: 'requested', salad: 'requested', roast: 'waiting', bill: 'waiting' };

/** Rejects the nth write of a task. */
const withFailingStore = async (t: Parameters<typeof testParley>[0], death: number) => {
  let left = death;
  const dies = (sk: unknown): boolean => sk === 'task' && --left === 0;
  const parley = await testParley(t, {
    wrapPorts: (ports) => ({
      ...ports,
      records: {
        ...ports.records,
        create: (item, token) =>
          dies(item.sk) ? Promise.reject(new Error('killed')) : ports.records.create(item, token),
        transact: (writes, token) =>
          writes.some((write) => write.kind === 'create' && dies(write.item.sk))
            ? Promise.reject(new Error('killed'))
            : ports.records.transact(writes, token),
      },
    }),
  });
  return { parley, ...(await kitchen(parley)) };
};

describe('graph creation after a partial failure', () => {
  for (const death of [1, 2, 3, 4]) {
    it(`creates the missing tasks of an interrupted graph later (interrupted at task ${death})`, async (t) => {
      const { parley, orchestrator } = await withFailingStore(t, death);
      const { graph } = graphOf(NEEDS);
      assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 500);
      await parley.restart();
      assert.notDeepEqual(await states(orchestrator, graph.graphId), WANTED);
      parley.clock.advance(30_000);
      await eventually(async () => assert.deepEqual(await states(orchestrator, graph.graphId), WANTED));
    });
  }

  it('creates the missing tasks at once when the interrupted graph is sent again', async (t) => {
    const { parley, orchestrator, cook } = await withFailingStore(t, 3);
    const { graph } = graphOf(NEEDS);
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 500);
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 200);
    assert.deepEqual(await states(orchestrator, graph.graphId), WANTED);
    parley.clock.advance(60_000);
    await settled(parley);
    assert.equal((await cook.claim({ max: 10 })).length, 2);
  });

  it('fails a node that has no provider any more, and the nodes that depend on it', async (t) => {
    const { parley, orchestrator } = await withFailingStore(t, 1);
    const { graph, id } = graphOf({ soup: [], roast: ['soup'] });
    await orchestrator.call('POST', '/v1/graphs', graph);
    await parley.admin.call('DELETE', '/v1/agents/cook');
    parley.clock.advance(30_000);
    await eventually(async () => {
      const { body } = await orchestrator.call('GET', `/v1/graphs/${graph.graphId}`);
      assert.deepEqual(
        [body.status, body.nodes.map(({ status }: { status: string }) => status)],
        ['failed', ['failed', 'failed']],
      );
      assert.match(body.nodes[0].error.message, /cook/);
    });
    assert.equal((await orchestrator.call('GET', `/v1/tasks/${id('soup')}`)).status, 404);
  });
});
