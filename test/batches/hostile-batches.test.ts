import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Batch, batchRef } from '../../shared/model/batch.ts';
import { taskRef } from '../../shared/model/task.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { insist } from '../engines/hostile-lives.ts';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { hostileParley } from '../support/hostile-parley.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';

const SEEDS = process.env.HOSTILE_SEED ? [Number(process.env.HOSTILE_SEED)] : [1, 2, 3];
const BATCHES = 20;

/** Completes most tasks, fails 10 %, and abandons 3 %. */
const work = async (agent: TestAgent, random: Random, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const { body } = await insist(() => agent.call('POST', '/v1/claims', { max: 5 }));
    for (const { message } of body.tasks) {
      if (random() < 0.03) continue;
      const report =
        random() < 0.1
          ? about('task.failed', agent.id, message.id, { error: 'invalid_params', message: 'no' })
          : about('task.result', agent.id, message.id, { status: 'completed', result: {} });
      await insist(() => agent.send(report));
    }
    if (body.tasks.length === 0) await pause(1);
  }
};

const liveThrough = async (t: TestContext, random: Random): Promise<void> => {
  const { truth, agent, errors } = await hostileParley(t, random);
  const [requester, ...workers] = [await agent('requester'), await agent('worker'), await agent('helper')];
  const batches = Array.from({ length: BATCHES }, (_, n) => ({
    batchId: `batch-${n}`,
    failFast: n % 3 === 0,
    deadlineSeconds: n % 4 === 0 ? 5 : 86_400,
    tasks: Array.from({ length: 1 + Math.floor(random() * 12) }, () => taskRequest('requester')),
  }));
  const stop = new AbortController();
  const working = workers.map((each) => work(each, random, stop.signal));
  try {
    for (const batch of batches) {
      const { status, body } = await insist(() => requester.call('POST', '/v1/batches', batch));
      assert.ok([200, 202].includes(status), JSON.stringify(body));
    }
    await Promise.race([allEnded(truth, batches), Promise.all(working)]);
  } finally {
    stop.abort();
    await Promise.allSettled(working);
  }
  for (const { batchId } of batches) await checkEnd(truth, batchId);
  await checkTold(truth, requester);
  assert.deepEqual(errors, []);
};

const batchOf = async (truth: Ports, id: string): Promise<Batch> =>
  (await truth.records.get(batchRef('default', id))) ?? assert.fail(`no batch ${id}`);

const allEnded = (truth: Ports, batches: { batchId: string }[]): Promise<void> =>
  eventually(async () => {
    for (const { batchId } of batches) assert.notEqual((await batchOf(truth, batchId)).status, 'open', batchId);
  }, 30_000);

/** The status follows from the ends of the items, and no item runs after it. */
const checkEnd = async (truth: Ports, id: string): Promise<void> => {
  const batch = await batchOf(truth, id);
  const ends = batch.items.map((_, n) => batch.itemEnds[n]?.status ?? assert.fail(`${id} has no end of ${n}`));
  const completed = ends.filter((status) => status === 'completed').length;
  const verdict = completed === ends.length ? 'success' : completed > 0 ? 'partial' : 'failed';
  assert.ok([verdict, 'timeout'].includes(batch.status), `${id} ended ${batch.status} with ${ends}`);
  assert.deepEqual([batch.openCount, batch.openItems, batch.pendingRequests], [0, {}, undefined]);
  const mayStop = batch.failFast || batch.status === 'timeout';
  assert.ok(mayStop || Object.values(batch.itemEnds).every(({ isStopped }) => !isStopped), `${id} ended too early`);
  await eventually(async () => {
    for (const part of batch.items) {
      const task = await truth.records.get(taskRef('default', part.id));
      assert.ok(!task || task.endedAt !== undefined, `${part.id} of ${id} is still ${task?.status}`);
    }
  });
};

/** Each end is one event and one inbox entry; items have no inbox entry. */
const checkTold = async (truth: Ports, requester: TestAgent): Promise<void> => {
  const told = await eventually(async () => {
    const events = new Map<string, ParleyEvent>();
    for (let cursor: string | undefined; ; ) {
      const page = await truth.events.read('default', { after: cursor, types: ['batch.ended'], limit: 500 });
      if (page.events.length === 0) break;
      for (const event of page.events) events.set(event.id, event);
      cursor = page.cursor;
    }
    assert.equal(events.size, BATCHES);
    return [...events.values()].map(({ data }) => data.batchId);
  });
  assert.equal(new Set(told).size, BATCHES);
  const read: string[] = [];
  await eventually(async () => {
    const { body } = await insist(() => requester.call('GET', '/v1/inbox?max=100'));
    const ids = body.messages.map(({ id }: { id: string }) => id);
    for (const { id, payload } of body.messages) if (!read.includes(id)) read.push(id, payload.content.batchId);
    if (ids.length > 0) await insist(() => requester.call('POST', '/v1/inbox/ack', { ids }));
    assert.equal(read.length, 2 * BATCHES);
  });
  assert.deepEqual(read.filter((id) => id.startsWith('batch-')).length, BATCHES);
};

describe('batches on a faulty engine', () => {
  for (const seed of SEEDS) {
    it(`ends every batch once, as its items ended, and leaves no item running (seed ${seed})`, (t) =>
      liveThrough(t, seeded(seed)));
  }
});
