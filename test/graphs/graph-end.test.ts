import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
import { kitchen } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const DINNER = { soup: [], roast: ['soup'], bill: ['roast'] };

const submitted = async (t: Parameters<typeof testParley>[0], needs: Record<string, string[]> = DINNER) => {
  const parley = await testParley(t);
  const { orchestrator, cook } = await kitchen(parley);
  const { graph, id } = graphOf(needs);
  assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
  const path = `/v1/graphs/${graph.graphId}`;
  const finish = async (name: string) =>
    assert.equal((await cook.send({ id: id(name), status: 'completed', result: {} })).status, 202);
  const fail = async (name: string) => {
    const error = { code: 'INVALID_INPUT', message: 'burnt' };
    assert.equal((await cook.send({ id: id(name), status: 'failed', error })).status, 202);
  };
  const shown = async () => (await orchestrator.call('GET', path)).body;
  const reached = (wanted: object) =>
    eventually(async () => assert.deepEqual(await states(orchestrator, graph.graphId), wanted));
  return { parley, orchestrator, cook, graph, id, path, finish, fail, shown, reached };
};

const ends = async ({ admin }: TestParley): Promise<string[]> =>
  (await admin.call('GET', '/v1/events?type=graph.ended&limit=100')).body.events.map(
    ({ data }: { data: { status: string } }) => data.status,
  );

describe('graph end', () => {
  it('publishes the end of a graph once, when its last node has ended', async (t) => {
    const { parley, finish, shown, reached } = await submitted(t);
    await finish('soup');
    await reached({ soup: 'completed', roast: 'requested', bill: 'waiting' });
    await finish('roast');
    await reached({ soup: 'completed', roast: 'completed', bill: 'requested' });
    assert.deepEqual(await ends(parley), []);
    assert.equal((await shown()).endedAt, undefined);
    await finish('bill');
    await eventually(async () => assert.deepEqual(await ends(parley), ['completed']));
    assert.equal((await shown()).endedAt, new Date(parley.clock.now()).toISOString());
    await settled(parley);
    assert.deepEqual(await ends(parley), ['completed']);
  });

  it('answers a call that waits when the graph ends, and tells its requester in the inbox, once for each end', async (t) => {
    const { parley, orchestrator, graph, id, path, fail, finish } = await submitted(t, { soup: [] });
    const graphMessages = async () =>
      (await orchestrator.inbox()).filter(({ type }: { type: string }) => type === 'parley.graph');
    assert.equal((await orchestrator.call('GET', path)).body.status, 'in_progress');
    const waiting = orchestrator.call('GET', `${path}?wait=20`);
    await fail('soup');
    assert.equal((await waiting).body.status, 'failed');
    await eventually(async () => assert.equal((await graphMessages()).length, 1));
    const [{ payload }] = await graphMessages();
    assert.partialDeepStrictEqual(payload, { graphId: graph.graphId, status: 'failed', nodes: 1 });
    parley.clock.advance(1);
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${id('soup')}/retry`)).status, 202);
    await settled(parley);
    await finish('soup');
    await eventually(async () => {
      const told = (await graphMessages()).map((message) => message.payload.status);
      assert.deepEqual(told, ['failed', 'completed']);
    });
  });

  it('publishes the end of a graph again after a retry of a failed node', async (t) => {
    const { parley, orchestrator, id, fail, finish, shown, reached } = await submitted(t, {
      soup: [],
      roast: ['soup'],
    });
    await fail('soup');
    await eventually(async () => assert.deepEqual(await ends(parley), ['failed']));
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${id('soup')}/retry`)).status, 202);
    await reached({ soup: 'requested', roast: 'waiting' });
    assert.deepEqual([(await shown()).status, (await shown()).endedAt], ['in_progress', undefined]);
    await finish('soup');
    await reached({ soup: 'completed', roast: 'requested' });
    await finish('roast');
    await eventually(async () => assert.deepEqual(await ends(parley), ['failed', 'completed']));
  });

  it('publishes the end of a graph whose nodes are cancelled one by one, dependents first', async (t) => {
    const { parley, orchestrator, id } = await submitted(t);
    for (const name of ['bill', 'roast', 'soup']) {
      assert.equal((await orchestrator.call('POST', `/v1/tasks/${id(name)}/cancel`)).status, 200);
    }
    await eventually(async () => assert.deepEqual(await ends(parley), ['cancelled']));
  });
});

describe('graph cancellation', () => {
  it('cancels every open node of a cancelled graph, and notifies the holder of a claimed one', async (t) => {
    const { parley, orchestrator, cook, path, id, finish, reached } = await submitted(t);
    await finish('soup');
    await reached({ soup: 'completed', roast: 'requested', bill: 'waiting' });
    await cook.claim();
    const reply = await orchestrator.call('POST', `${path}/cancel`);
    assert.deepEqual([reply.status, reply.body.status, reply.body.cancelledBy], [200, 'cancelled', 'orchestrator']);
    await settled(parley);
    await reached({ soup: 'completed', roast: 'cancelled', bill: 'cancelled' });
    assertRefused(await cook.send({ id: id('roast'), status: 'completed', result: {} }), 409, 'cancelled');
    assert.deepEqual(
      (await cook.inbox()).map(({ id: about, status }) => [about, status]),
      [[id('roast'), 'cancelled']],
    );
    // Of the nodes only the result of the first one: the canceller is not notified.
    await eventually(async () => {
      const types = (await orchestrator.inbox()).map(({ type }) => type);
      assert.deepEqual(types.toSorted(), ['parley.graph', undefined]);
    });
    await eventually(async () => assert.deepEqual(await ends(parley), ['cancelled']));
    const again = await orchestrator.call('POST', `${path}/cancel`);
    assert.deepEqual([again.status, again.body.endedAt], [200, (await orchestrator.call('GET', path)).body.endedAt]);
    assert.deepEqual(await ends(parley), ['cancelled']);
  });

  it('cancels a dependent before its dependency, so that no node fails because of it', async (t) => {
    const order: string[] = [];
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: (ref, change, ...rest) => {
            if (change.set?.status === 'cancelled') order.push(ref.pk.split('-').at(-1) ?? '');
            return ports.records.update(ref, change, ...rest);
          },
        },
      }),
    });
    const { orchestrator } = await kitchen(parley);
    const { graph } = graphOf(DINNER);
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
    await orchestrator.call('POST', `/v1/graphs/${graph.graphId}/cancel`);
    assert.deepEqual(order.slice(0, 3), ['bill', 'roast', 'soup']);
  });

  it('rejects the cancellation of an unknown graph, of an ended one, or by another agent', async (t) => {
    const { parley, orchestrator, cook, path, finish } = await submitted(t, { soup: [] });
    await refusedWithoutTrace(parley, 404, 'graph_not_found', () => cook.call('POST', `${path}/cancel`));
    assertRefused(await orchestrator.call('POST', '/v1/graphs/none/cancel'), 404, 'graph_not_found');
    await finish('soup');
    const late = await refusedWithoutTrace(parley, 409, 'graph_ended', () =>
      orchestrator.call('POST', `${path}/cancel`),
    );
    assert.equal(late.body.graphStatus, 'completed');
    assert.equal((await parley.admin.call('POST', `${path}/cancel`)).status, 409);
  });

  it('cancels the tasks that are created during the cancellation of a graph, and creates no more', async (t) => {
    let cancels: (() => Promise<unknown>) | undefined;
    let made = 0;
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          create: async (item, token) => {
            if (item.sk === 'task' && Reflect.has(item, 'graph') && ++made === 2) await cancels?.();
            return ports.records.create(item, token);
          },
        },
      }),
    });
    const { orchestrator, cook } = await kitchen(parley);
    const { graph } = graphOf({ soup: [], salad: [], bread: [] });
    cancels = () => orchestrator.call('POST', `/v1/graphs/${graph.graphId}/cancel`);
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
    await settled(parley);
    assert.deepEqual(await states(orchestrator, graph.graphId), {
      soup: 'cancelled',
      salad: 'cancelled',
      bread: 'cancelled',
    });
    assert.deepEqual(await cook.claim({ max: 10 }), []);
  });
});
