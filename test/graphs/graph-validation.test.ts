import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { graphOf } from '../support/graphs.ts';
import { kitchen } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

describe('graph validation', () => {
  const refused = async (
    parley: TestParley,
    orchestrator: TestAgent,
    graph: object,
    code: Parameters<typeof refusedWithoutTrace>[2],
  ) => {
    const status = code === 'invalid_request' ? 400 : 422;
    return (await refusedWithoutTrace(parley, status, code, () => orchestrator.call('POST', '/v1/graphs', graph))).body;
  };

  it('rejects a graph with a cycle, and names the cycle', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const { graph, id } = graphOf({
      menu: [],
      soup: ['menu', 'roast'],
      salad: ['soup'],
      roast: ['salad'],
      bill: ['roast'],
    });
    const { cycle, error } = await refused(parley, orchestrator, graph, 'task_graph_cycle');
    const at = cycle.indexOf(id('soup'));
    assert.deepEqual([...cycle.slice(at), ...cycle.slice(0, at)], ['soup', 'salad', 'roast'].map(id));
    assert.equal(error.code, 'TASK_GRAPH_CYCLE');
    const alone = graphOf({ soup: ['soup'] });
    const self = await refused(parley, orchestrator, alone.graph, 'task_graph_cycle');
    assert.deepEqual(self.cycle, [alone.id('soup')]);
  });

  it('rejects a graph with all its issues and without a trace', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const { graph, id } = graphOf({ soup: ['fish'], salad: ['roast'], roast: ['salad'], cheese: [], bread: [] });
    const [soup, salad, roast, cheese, bread] = graph.nodes;
    const nodes = [soup, salad, roast, { ...cheese, agent: 'nobody' }, { ...bread, agent: undefined, capability: 'x' }];
    const edges = [{ from: 'air', to: id('soup') }];
    const { issues } = await refused(
      parley,
      orchestrator,
      { ...graph, nodes: [...nodes, { ...soup, dependencies: [] }], edges },
      'task_graph_cycle',
    );
    assert.deepEqual(
      issues.map(({ path }: { path: string }) => path),
      ['nodes', 'nodes[0].dependencies[0]', 'nodes[5].taskId', 'edges[0].from', 'nodes[3]', 'nodes[4]'],
    );
    assert.match(JSON.stringify(issues), /nobody.*capability x/);
  });

  it('rejects each malformed field of a graph by its path', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const { graph } = graphOf({ soup: [] });
    const [soup] = graph.nodes;
    const bad: Record<string, object> = {
      graphId: { graphId: '' },
      nodes: { nodes: [] },
      'nodes[0].taskId': { nodes: [{ ...soup, taskId: 1 }] },
      'nodes[0].capability': { nodes: [{ ...soup, capability: undefined }] },
      'nodes[0].payload': { nodes: [{ ...soup, payload: [] }] },
      'nodes[0].onFailure': { nodes: [{ ...soup, onFailure: 'run' }] },
      'nodes[0].priority': { nodes: [{ ...soup, priority: 'critical' }] },
      'nodes[0].status': { nodes: [{ ...soup, status: 'in_progress' }] },
      'edges[0].to': { edges: [{ from: 'a' }] },
      onFailure: { onFailure: true },
      conversationId: { conversationId: {} },
    };
    for (const [path, change] of Object.entries(bad)) {
      const { issues } = await refused(parley, orchestrator, { ...graph, ...change }, 'invalid_request');
      assert.deepEqual(
        issues.map((issue: { path: string }) => issue.path),
        [path],
      );
    }
    const twice = await orchestrator.call('POST', '/v1/graphs', { ...graph, extra: 1 });
    assertRefused(twice, 400, 'invalid_request');
  });

  it('rejects a graph with a node that has the id of an existing task', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const { graph } = graphOf({ soup: [] });
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
    const other = { ...graph, graphId: 'another' };
    const reply = await refusedWithoutTrace(parley, 409, 'id_reused', () =>
      orchestrator.call('POST', '/v1/graphs', other),
    );
    assert.equal(reply.body.issues[0].path, 'nodes[0]');
  });
});
