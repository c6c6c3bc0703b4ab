import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { settled } from '../http/refusal.ts';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const LARGE = 'x'.repeat(20_000);
const DAY_MS = 86_400_000;

/** Tracks which blobs were put, which are left, and which are retained. */
const watched = async (t: TestContext) => {
  const [put, left, owned] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const parley = await testParley(t, {
    wrapPorts: ({ blobs, ...ports }) => ({
      ...ports,
      blobs: {
        get: (key) => blobs.get(key),
        put: async (key, content) => {
          await blobs.put(key, content);
          put.add(key);
          left.add(key);
        },
        retain: async (key) => {
          await blobs.retain(key);
          owned.add(key);
        },
        delete: async (key) => {
          await blobs.delete(key);
          left.delete(key);
        },
      },
    }),
  });
  return { parley, put, left, owned };
};

const accepted = async (asked: Promise<{ status: number; body: unknown }>): Promise<void> => {
  const { status, body } = await asked;
  assert.ok(status < 300, JSON.stringify(body));
};

/** Large content of each record kind, and the number of its blobs. */
const KINDS: Record<string, { blobs: number; make: (parley: TestParley) => Promise<void> }> = {
  'a task, its result and its artifacts': {
    blobs: 4,
    make: async (parley) => {
      const { orchestrator, cook } = await kitchen(parley);
      const request = tfRequest({ payload: { LARGE } });
      await accepted(orchestrator.send(request));
      const artifact = { name: 'a.txt', type: 'text/plain', content: LARGE };
      const artifacts = [artifact, { ...artifact, name: 'b.txt', content: LARGE.repeat(20) }];
      await accepted(cook.send({ id: request.id, status: 'completed', result: { LARGE }, artifacts }));
    },
  },
  'a direct message': {
    blobs: 1,
    make: async ({ agent }) => {
      const speaker = await agent('speaker', messageRouting);
      await agent('reader', messageRouting);
      const payload = {
        status: 'in_progress',
        progress: 0.5,
        message: 'x'.repeat(6000),
        confidence: 0.8,
        blockers: [],
      };
      await accepted(speaker.send(mrMessage('status-update', 'speaker', 'reader', { payload })));
    },
  },
  'a card': {
    blobs: 1,
    make: async ({ admin }) => accepted(admin.call('POST', '/v1/cards', { type: 'tool.result', content: LARGE })),
  },
  'a batch, until its requests are tasks': {
    blobs: 2,
    make: async (parley) => {
      const { orchestrator } = await kitchen(parley);
      const tasks = [tfRequest({ payload: { LARGE } })];
      await accepted(orchestrator.call('POST', '/v1/batches', { tasks }));
    },
  },
  'a graph, until its nodes are tasks': {
    blobs: 2,
    make: async (parley) => {
      const { orchestrator } = await kitchen(parley);
      const { graph } = graphOf({ soup: [] });
      const nodes = graph.nodes.map((node) => ({ ...node, payload: { LARGE } }));
      await accepted(orchestrator.call('POST', '/v1/graphs', { ...graph, nodes }));
    },
  },
};

describe('blob retention', () => {
  for (const [kind, { blobs, make }] of Object.entries(KINDS)) {
    it(`retains the blobs of ${kind}`, async (t) => {
      const { parley, put, left, owned } = await watched(t);
      await make(parley);
      assert.equal(put.size, blobs);
      const isPending = kind.includes('until');
      await eventually(() => {
        assert.equal(left.size, isPending ? blobs - 1 : blobs);
        assert.deepEqual(
          [...left].filter((key) => !owned.has(key)),
          [],
        );
      });
    });
  }

  it('deletes the blobs of a removed task', async (t) => {
    const { parley, put, left } = await watched(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const request = taskRequest('requester', { payload: { params: { LARGE } } });
    await accepted(requester.send(request));
    await accepted(worker.complete(request.id, { format: 'markdown', content: LARGE }));
    await settled(parley);
    assert.deepEqual([put.size, left.size], [2, 2]);
    parley.clock.advance(400 * DAY_MS);
    await eventually(() => assert.equal(left.size, 0));
  });
});
