import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Task, taskRef } from '../../shared/model/task.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { insist } from '../engines/hostile-lives.ts';
import { about, type TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { hostileParley } from '../support/hostile-parley.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';

const SEEDS = process.env.HOSTILE_SEED ? [Number(process.env.HOSTILE_SEED)] : [1, 2, 3];
const GRAPHS = 12;

/** Eight nodes, each of which may depend on any before it. */
const randomNeeds = (random: Random): Record<string, string[]> => {
  const names = Array.from({ length: 8 }, (_, n) => `n${n}`);
  return Object.fromEntries(names.map((name, at) => [name, names.slice(0, at).filter(() => random() < 0.35)]));
};

/** Completes tasks, fails 15 % for good, and checks the dependencies of each claimed task. */
const work = async (truth: Ports, agent: TestAgent, random: Random, signal: AbortSignal, started: string[]) => {
  while (!signal.aborted) {
    const { body } = await insist(() => agent.call('POST', '/v1/claims', { max: 3 }));
    for (const { message, attempt } of body.tasks) {
      const task = await taskOf(truth, message.parley?.taskId ?? message.id);
      for (const id of task.dependencyIds ?? []) assert.equal((await taskOf(truth, id)).status, 'completed', task.id);
      started.push(`${task.id}#${attempt}`);
      const report =
        random() < 0.15
          ? about('task.failed', agent.id, message.id, { error: 'invalid_params', message: 'no' })
          : about('task.result', agent.id, message.id, { status: 'completed', result: {} });
      await insist(() => agent.send(report));
    }
    if (body.tasks.length === 0) await pause(1);
  }
};

const taskOf = async (truth: Ports, id: string): Promise<Task> =>
  (await truth.records.get(taskRef('default', id))) ?? assert.fail(`no task ${id}`);

const liveThrough = async (t: TestContext, random: Random): Promise<void> => {
  const { truth, agent, errors } = await hostileParley(t, random);
  const [orchestrator, cook, butcher] = [await agent('orchestrator'), await agent('cook'), await agent('butcher')];
  const graphs = Array.from({ length: GRAPHS }, (_, n) => {
    const made = graphOf(randomNeeds(random), { onFailure: n % 2 === 0 ? 'fail' : 'skip' });
    const nodes = made.graph.nodes.map((node) => ({ ...node, agent: random() < 0.5 ? 'cook' : 'butcher' }));
    return { ...made.graph, nodes };
  });
  const stop = new AbortController();
  const started: string[] = [];
  const working = [cook, butcher].map((each) => work(truth, each, random, stop.signal, started));
  const finished = (async () => {
    for (const graph of graphs) {
      const often = 1 + Math.floor(random() * 2);
      const replies = await Promise.all(
        Array.from({ length: often }, () => insist(() => orchestrator.call('POST', '/v1/graphs', graph))),
      );
      for (const { status, body } of replies) assert.ok([200, 202].includes(status), JSON.stringify(body));
    }
    await Promise.all(graphs.map((graph) => settledGraph(truth, graph)));
    // Failed nodes are retried until none is left.
    for (const graph of graphs) {
      for (;;) {
        const { body } = await insist(() => orchestrator.call('GET', `/v1/graphs/${graph.graphId}`));
        const culprit = body.nodes.find(
          ({ state, error }: { state: string; error?: { code: string } }) =>
            state === 'failed' && error?.code === 'invalid_params',
        );
        if (!culprit) break;
        await insist(() => orchestrator.call('POST', `/v1/tasks/${culprit.taskId}/retry`));
        await settledGraph(truth, graph);
      }
    }
  })();
  try {
    await Promise.race([finished, Promise.all(working)]);
  } finally {
    stop.abort();
    await Promise.allSettled(working);
  }
  await Promise.all(working);
  await finished;
  for (const graph of graphs) {
    for (const { taskId } of graph.nodes) {
      const { status, attempt } = await taskOf(truth, taskId);
      assert.equal(status, 'completed', taskId);
      const own = started.filter((name) => name.startsWith(`${taskId}#`));
      // A claim response may be lost, but no attempt is given twice.
      assert.equal(new Set(own).size, own.length, taskId);
      assert.ok(own.length <= attempt);
    }
  }
  assert.deepEqual(errors, []);
};

/** Every node has ended, and only dependents of failed nodes did not run. */
const settledGraph = (truth: Ports, { nodes }: ReturnType<typeof graphOf>['graph']): Promise<void> =>
  eventually(async () => {
    const tasks = await truth.records.getMany(nodes.map(({ taskId }) => taskRef('default', taskId)));
    assert.equal(tasks.length, nodes.length);
    for (const task of tasks) {
      assert.ok(task.endedAt !== undefined, `${task.id} is ${task.status}`);
      const before = tasks.filter(({ id }) => task.dependencyIds?.includes(id));
      const mayRun = before.every(({ status }) => status === 'completed');
      assert.equal(task.error?.code === 'dependency_failed', !mayRun, `${task.id} ended ${task.status}`);
    }
  }, 30_000);

describe('graphs on a faulty engine', () => {
  for (const seed of SEEDS) {
    it(`runs every node of a graph once its dependencies are completed, and no other node (seed ${seed})`, (t) =>
      liveThrough(t, seeded(seed)));
  }
});
