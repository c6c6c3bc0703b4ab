import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { isShort } from '../support/scale.ts';
import { deployment } from './deployment.ts';

const { admin, agent } = await deployment();

const named = <T>(name: string, answer: Promise<T>): Promise<string> => answer.then(() => name);

/** Sent after the others, so that once it is answered they wait. */
const roundTrip = () => admin.call('GET', '/v1/agents?limit=1');

/** Two tasks in the hands of the same agent. */
const twoHeld = async (tim: TestAgent, lance: TestAgent, galahad: TestAgent): Promise<[string, string]> => {
  const ids: [string, string] = [await tim.request({ to: galahad.id }), await lance.request({ to: galahad.id })];
  for (const id of ids) assert.equal((await galahad.claimed(id)).status, 202);
  return ids;
};

// Each waits beside another who waits half as long for something else: whoever is not woken is answered after that one.
describe('whoever waits is woken', () => {
  it('for the end of a task', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const [mine, other] = await twoHeld(tim, tim, galahad);
    const [woken, control] = [tim.task(mine, 20), tim.task(other, 10)];
    await roundTrip();
    await galahad.complete(mine);
    assert.equal(await Promise.race([named('woken', woken), named('control', control)]), 'woken');
    assert.equal((await woken).state, 'completed');
    await galahad.complete(other);
    assert.equal((await control).state, 'completed');
  });

  it('for a message in the inbox', async () => {
    const [tim, lance, galahad] = [await agent('tim'), await agent('lance'), await agent('galahad')];
    const [mine, other] = await twoHeld(tim, lance, galahad);
    const [woken, control] = [tim.inbox(20), lance.inbox(10)];
    await roundTrip();
    await galahad.complete(mine);
    assert.equal(await Promise.race([named('woken', woken), named('control', control)]), 'woken');
    assert.equal((await woken)[0].correlationId, mine);
    await galahad.complete(other);
    assert.equal((await control)[0].correlationId, other);
  });

  it('for a task to claim, time and again', async () => {
    const [tim, lance, galahad] = [await agent('tim'), await agent('lance'), await agent('galahad')];
    const control = lance.claim({ wait: 20 });
    // Looking again every second instead of being woken would take longer than the other one waits.
    const claims = async () => {
      for (let n = 0; n < 12; n++) {
        const woken = galahad.claim({ wait: 20 });
        await roundTrip();
        const id = await tim.request({ to: galahad.id });
        assert.equal((await woken)[0].message.id, id);
        await galahad.complete(id);
      }
    };
    assert.equal(await Promise.race([named('woken', claims()), named('control', control)]), 'woken');
    const other = await tim.request({ to: lance.id });
    assert.equal((await control)[0].message.id, other);
  });
});

const TASKS = isShort ? 12 : 28;
const PRIORITIES = ['critical', 'high', 'normal', 'low'];

describe('priority', () => {
  it('decides what is claimed next, and age among equals, while many others send and claim', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    let isOver = false;
    const load = ['a', 'b', 'c'].map(async (name) => {
      const [sender, worker] = [await agent(name), await agent(`${name}-worker`)];
      while (!isOver) {
        const messages = Array.from({ length: 5 }, () =>
          taskRequest(sender.id, { to: worker.id, priority: 'critical' }),
        );
        await sender.send({ messages });
        const claimed = await worker.claim({ max: 5, wait: 5 });
        await Promise.all(claimed.map(({ message }) => worker.complete(message.id)));
      }
    });
    try {
      const sent: { id: string; rank: number }[] = [];
      for (let n = 0; n < TASKS; n++) {
        const rank = (n * 7) % 4;
        sent.push({ id: await tim.request({ to: galahad.id, priority: PRIORITIES[rank] }), rank });
      }
      const order: string[] = [];
      while (order.length < sent.length) {
        const tasks = await galahad.claim({ max: 1 + (order.length % 3), wait: 10 });
        assert.ok(tasks.length > 0, 'a task that waits is claimed');
        order.push(...tasks.map(({ message }) => message.id));
        await Promise.all(tasks.map(({ message }) => galahad.complete(message.id)));
      }
      const expected = sent.toSorted((a, b) => a.rank - b.rank).map(({ id }) => id);
      assert.deepEqual(order, expected);
    } finally {
      isOver = true;
      await Promise.all(load);
    }
  });

  it('is told to whoever reports progress, where something more urgent waits for it', async () => {
    // No other test has tasks of this domain: whoever serves it may be handed any.
    const [tim, galahad] = [await agent('tim'), await agent('galahad', { domains: ['observability'] })];
    const to = galahad.id;
    const id = await tim.request({ to, priority: 'low' });
    assert.equal((await galahad.claim({ wait: 10 }))[0].message.id, id);
    await tim.request({ to, priority: 'critical' });
    for (let sent = 0; sent < 2; sent++) await tim.request({ to, priority: 'high' });
    await eventually(async () => {
      const { critical, high } = (await galahad.progress(id)).body.waiting ?? {};
      assert.deepEqual([critical, high], [1, 2]);
    });
    const progress = { ...taskRequest(to), type: 'task.progress', correlationId: id, payload: { percent: 60 } };
    const { body } = await galahad.call('POST', '/v1/claims', { messages: [progress] });
    assert.equal(body.results[0].body.waiting.critical, 1);
  });

  it('gives work of low priority only to an agent that holds nothing', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const normal = await tim.request({ to: galahad.id });
    const low = await tim.request({ to: galahad.id, priority: 'low' });
    assert.equal((await galahad.claim({ wait: 10 }))[0].message.id, normal);
    assert.deepEqual(await galahad.claim({ wait: 0.5 }), []);
    await galahad.complete(normal);
    assert.equal((await galahad.claim({ wait: 10 }))[0].message.id, low);
  });
});
