import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { tempDir } from '../support/server-process.ts';
import { RestartableServer } from './restartable-server.ts';

const SETS = 12;
const KILLS = 4;
const NEEDS = { a: [], b: [], c: ['a', 'b'], d: ['c'], e: ['c', 'd'] };

describe('a process that is killed again and again', () => {
  it('brings every graph and every batch that it accepted to its end, and each of them once', {
    timeout: 180_000,
  }, async (t) => {
    const server = await RestartableServer.start(t, tempDir(t));
    const [arthur, galahad] = [await server.agent('arthur'), await server.agent('galahad')];
    const graphs = Array.from({ length: SETS }, () => {
      const { graph } = graphOf(NEEDS);
      return { ...graph, nodes: graph.nodes.map((node) => ({ ...node, agent: 'galahad' })) };
    });
    const batches = Array.from({ length: SETS }, (_, n) => ({
      batchId: `batch-${n}`,
      tasks: Array.from({ length: 6 }, () => taskRequest('arthur', { to: 'galahad' })),
    }));
    let isOver = false;
    let done = 0;
    const working = (async () => {
      while (!isOver) {
        const claim = { max: 5, wait: 0.2 };
        const { body } = await server.insist(() => galahad.call('POST', '/v1/claims', claim));
        for (const { message } of body.tasks ?? []) {
          const result = about('task.result', 'galahad', message.id, { status: 'completed', result: {} });
          await server.deliver(galahad, result);
          done += 1;
        }
        // What a lost answer to a claim brought is still held: it is finished without another claim.
        const held = await server.insist(() => galahad.call('GET', '/v1/tasks?agent=galahad&status=claimed&limit=100'));
        for (const { id } of held.body.tasks ?? []) {
          const message = about('task.result', 'galahad', id, { status: 'completed', result: {} });
          await server.insist(() => galahad.call('POST', '/v1/messages', message));
        }
      }
    })();
    const killing = (async () => {
      for (let kill = 1; kill <= KILLS; kill++) {
        await eventually(() => assert.ok(done > kill * 10), 60_000);
        await pause(Math.random() * 10);
        await server.killAndRestart();
      }
    })();
    for (let n = 0; n < SETS; n++) {
      for (const [path, body] of [
        ['/v1/graphs', graphs[n]],
        ['/v1/batches', batches[n]],
      ] as const) {
        const reply = await server.insist(() => arthur.call('POST', path, body));
        assert.ok([200, 202].includes(reply.status), JSON.stringify(reply.body));
      }
    }
    await killing;
    const statusOf = async (path: string) => (await server.insist(() => arthur.call('GET', path))).body.status;
    await eventually(async () => {
      for (const { graphId } of graphs) assert.equal(await statusOf(`/v1/graphs/${graphId}`), 'completed');
      for (const { batchId } of batches) assert.equal(await statusOf(`/v1/batches/${batchId}`), 'success');
    }, 90_000);
    isOver = true;
    await working;
    const ends = await server.eventIds('batch.ended');
    assert.equal(ends.size, SETS);
    const ready = await server.eventIdsByTask('task.ready');
    assert.equal(ready.size, SETS * 3);
    for (const [id, events] of ready) assert.equal(events.size, 1, `${id} was queued as ${[...events]}`);
  });
});
