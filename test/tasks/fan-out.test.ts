import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { type Task, taskRef } from '../../shared/model/task.ts';
import type { Records } from '../../shared/ports/records.ts';
import { createTask } from '../../shared/tasks/commands/create-task.ts';
import { toRequest } from '../../shared/workflows/deferred/create-pending.ts';
import { settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

const ASKED = { type: 'parse_recipe', payload: {}, routing: { target: 'cook' } };

const busyKitchen = async (t: Parameters<typeof testParley>[0], through = (records: Records) => records) => {
  const counts = { byDispatcher: 0 };
  let systems = 0;
  const parley = await testParley(t, {
    wrapPorts: (ports) => {
      const isDispatcher = systems++ % 2 === 1;
      const records = through(ports.records);
      const update: Records['update'] = (ref, ...rest) => {
        if (isDispatcher && ref.sk === 'task') counts.byDispatcher++;
        return records.update(ref, ...rest);
      };
      return { ...ports, records: { ...records, update } };
    },
  });
  const { orchestrator, cook } = await kitchen(parley);
  const one = tfRequest();
  assert.equal((await orchestrator.send(one)).status, 202);
  await cook.claim();
  const many = async (count: number, how: object): Promise<string[]> => {
    const { deps } = parley.parley;
    const known = await deps.directory.getAgent('default', 'orchestrator');
    assert.ok(known);
    const ask = async (): Promise<string> => {
      const message = { ...ASKED, id: randomUUID() };
      const request = toRequest(deps, 'orchestrator', { dialect: 'task-format', message });
      const related = { ...request, ...how };
      await createTask(deps, { project: 'default', role: 'agent', registered: known }, 'task-format', related, TRACE);
      return message.id;
    };
    const ids: string[] = [];
    while (ids.length < count) ids.push(...(await Promise.all(Array.from({ length: 50 }, ask))));
    await settled(parley);
    counts.byDispatcher = 0;
    return ids;
  };
  return { parley, orchestrator, cook, one: one.id, many, counts };
};

const statuses = async ({ parley }: TestParley, ids: string[]): Promise<Record<string, number>> => {
  const tasks = await parley.deps.records.getMany<Task>(ids.map((id) => taskRef('default', id)));
  const counts: Record<string, number> = {};
  for (const { status } of tasks) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

const allAre = (parley: TestParley, ids: string[], status: string): Promise<void> =>
  eventually(async () => {
    parley.clock.advance(20);
    assert.deepEqual(await statuses(parley, ids), { [status]: ids.length });
  });

/** Writes of the fan-out cursor fail twice: once before and once after they take effect. */
const failing = (): ((records: Records) => Records) => {
  let failures = 0;
  const attempted = async <T>(sk: string, write: () => Promise<T>): Promise<T> => {
    const turn = sk === 'fanout' ? failures++ % 3 : 2;
    if (turn === 0) throw new ParleyError('conflict', 'before');
    const done = await write();
    if (turn === 1) throw new ParleyError('conflict', 'after');
    return done;
  };
  return (records) => ({
    ...records,
    update: (ref, ...rest) => attempted(ref.sk, () => records.update(ref, ...rest)),
    transact: (writes, token) => {
      const [first] = writes;
      return attempted(first?.kind === 'remove' ? first.key.sk : '', () => records.transact(writes, token));
    },
  });
};

describe('cancellation of subtasks', () => {
  it('cancels all 250 subtasks of a cancelled task, a bounded number per change', async (t) => {
    const { parley, orchestrator, one, many, counts } = await busyKitchen(t);
    const ids = await many(250, { parent: one, isSubtask: true });
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${one}/cancel`)).status, 200);
    await allAre(parley, ids, 'cancelled');
    assert.equal(counts.byDispatcher, 100);
  });

  it('cancels all 450 subtasks of a cancelled task despite failed writes and a restart', async (t) => {
    const { parley, orchestrator, one, many } = await busyKitchen(t, failing());
    const ids = await many(450, { parent: one, isSubtask: true });
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${one}/cancel`)).status, 200);
    await eventually(async () => assert.ok(((await statuses(parley, ids)).cancelled ?? 0) >= 100));
    assert.ok(((await statuses(parley, ids)).cancelled ?? 0) < 450);
    await parley.restart();
    await allAre(parley, ids, 'cancelled');
  });
});

describe('release of dependent tasks', () => {
  it('queues all 250 tasks that depend on a completed task, a bounded number per change', async (t) => {
    const { parley, cook, one, many, counts } = await busyKitchen(t);
    const ids = await many(250, { dependencyIds: [one] });
    assert.equal((await cook.send({ id: one, status: 'completed' })).status, 202);
    await allAre(parley, ids, 'requested');
    assert.equal(counts.byDispatcher, 100);
    const { records } = parley.parley.deps;
    const walks = () => records.query({ pk: `default#fanout#dependent#${one}`, limit: 1 });
    await eventually(async () => assert.deepEqual(await walks(), []));
  });

  it('returns failed dependents to waiting when their dependency is retried before the failure reached all of them', async (t) => {
    const { parley, orchestrator, cook, one, many } = await busyKitchen(t);
    const ids = await many(350, { dependencyIds: [one] });
    const error = { code: 'INVALID_INPUT', message: 'burnt' };
    assert.equal((await cook.send({ id: one, status: 'failed', error })).status, 202);
    await eventually(async () => assert.deepEqual(await statuses(parley, ids), { failed: 200, waiting: 150 }));
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${one}/retry`)).status, 202);
    await allAre(parley, ids, 'waiting');
    assert.equal((await cook.claim()).length, 1);
    assert.equal((await cook.send({ id: one, status: 'completed' })).status, 202);
    await allAre(parley, ids, 'requested');
  });
});
