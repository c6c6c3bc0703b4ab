import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { createTask } from '../../shared/tasks/commands/create-task.ts';
import { toRequest } from '../../shared/workflows/deferred/create-pending.ts';
import { settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

const waitingKitchen = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const { deps } = parley.parley;
  const agents = await kitchen(parley);
  const ask = async (waitsFor: string[], id: string = randomUUID(), from = 'orchestrator') => {
    const known = await deps.directory.getAgent('default', from);
    assert.ok(known);
    const message = { ...tfRequest({ id }), context: {} };
    const request = toRequest(deps, from, { dialect: 'task-format', message, dependencyIds: waitsFor });
    await createTask(deps, { project: 'default', role: 'agent', registered: known }, 'task-format', request, TRACE);
    return id;
  };
  return { parley, ...agents, ask };
};

const refused = (code: string) => (error: unknown) => error instanceof ParleyError && error.code === code;

describe('task dependencies', () => {
  it('queues a task at once when its dependencies are completed, and deduplicates its repetition', async (t) => {
    const { ask, cook } = await waitingKitchen(t);
    const first = await ask([]);
    assert.equal((await cook.send({ id: first, status: 'completed' })).status, 202);
    const second = await ask([first]);
    await ask([first], second);
    const claimed = await cook.claim({ max: 10 });
    assert.deepEqual(
      claimed.map(({ message }) => message.id),
      [second],
    );
    await assert.rejects(ask([], second), refused('id_reused'));
  });

  it('rejects dependencies that do not exist, that the requester may not read, or that are too many', async (t) => {
    const { ask } = await waitingKitchen(t);
    const [mine, nothing] = [await ask([]), randomUUID()];
    await assert.rejects(ask([mine, nothing]), refused('unknown_dependency'));
    const hidden = await ask([mine]);
    await assert.rejects(ask([hidden], randomUUID(), 'cook'), refused('unknown_dependency'));
    await assert.rejects(ask(Array.from({ length: 49 }, () => randomUUID())), refused('too_large'));
    const itself = randomUUID();
    await assert.rejects(ask([itself], itself), refused('unknown_dependency'));
  });

  it('queues all of 120 tasks that depend on the same task', async (t) => {
    const { parley, ask, cook } = await waitingKitchen(t);
    const first = await ask([]);
    const others = await Promise.all(Array.from({ length: 120 }, () => ask([first])));
    await cook.send({ id: first, status: 'completed' });
    const claimed = new Set<string>();
    await eventually(async () => {
      for (const { message } of await cook.claim({ max: 10 })) claimed.add(message.id);
      assert.deepEqual([...claimed].toSorted(), others.toSorted());
    });
    await settled(parley);
    assert.deepEqual(await cook.claim({ max: 10 }), []);
  });

  it('queues a task once when it is requested while its dependency ends', async (t) => {
    const { parley, ask, cook } = await waitingKitchen(t);
    for (let round = 0; round < 20; round++) {
      const first = await ask([]);
      await cook.claim();
      const [, , second] = await Promise.all([
        ask([first]).then((id) => cook.call('GET', `/v1/tasks/${id}`)),
        cook.send({ id: first, status: 'completed' }),
        ask([first]),
      ]);
      await settled(parley);
      const claimed = (await cook.claim({ max: 10 })).map(({ message }) => message.id);
      assert.ok(claimed.length === 2 && claimed.includes(second), `round ${round}: ${claimed.length}`);
      for (const id of claimed) await cook.send({ id, status: 'completed' });
    }
  });
});
