import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Delivery, inboxPk } from '../../shared/model/delivery.ts';
import { type Task, taskRef } from '../../shared/model/task.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { hostileParley } from '../support/hostile-parley.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';
import { insist, newWitness, requestOne, type Witness, work } from './hostile-lives.ts';

/** `HOSTILE_SEED=7 node --test test/engines/hostile.test.ts` repeats one. */
const SEEDS = process.env.HOSTILE_SEED ? [Number(process.env.HOSTILE_SEED)] : [1, 2, 3];
const TASKS = 150;
const PATIENCE_MS = 30_000;

describe('on an engine that does everything that it may', () => {
  for (const seed of SEEDS) {
    it(`every task ends once, has one holder at a time and one outcome (seed ${seed})`, async (t) => {
      await liveThrough(t, seeded(seed));
    });
  }
});

const liveThrough = async (t: TestContext, random: Random): Promise<void> => {
  const { truth, agent, errors } = await hostileParley(t, random);
  const requesters = await Promise.all(['arthur', 'bors', 'kay'].map(agent));
  const agents = await Promise.all(['galahad', 'percival', 'lancelot', 'gawain'].map(agent));
  const witness = newWitness();
  const stop = new AbortController();
  const working = agents.map((each) => work(witness, each, random, stop.signal));
  const asking = requesters.map(async (requester) => {
    for (let n = 0; n < TASKS / requesters.length; n++) await requestOne(witness, requester, agents, random);
  });
  let tasks: Task[] = [];
  try {
    // Agents work until they are told to stop, or find something wrong.
    await Promise.race([Promise.all(asking), Promise.all(working)]);
    tasks = await Promise.race([allEnded(truth, witness), Promise.all(working).then(() => [])]);
  } finally {
    stop.abort();
    await Promise.allSettled([...asking, ...working]);
  }
  await Promise.all(working);
  checkResults(tasks, witness);
  await checkStories(truth, tasks, witness);
  await checkDuplicates(tasks, witness);
  await checkInboxes(truth, tasks, requesters);
  assert.deepEqual(errors, []);
};

const allEnded = (truth: Ports, witness: Witness): Promise<Task[]> =>
  eventually(async () => {
    const tasks = await truth.records.getMany([...witness.requests.keys()].map((id) => taskRef('default', id)));
    assert.equal(tasks.length, witness.requests.size, 'an accepted request is gone');
    const open = tasks.filter(({ endedAt }) => endedAt === undefined);
    assert.deepEqual(
      open.map(({ id, status, attempt }) => ({ id, status, attempt })),
      [],
    );
    return tasks;
  }, PATIENCE_MS);

const checkResults = (tasks: Task[], { results, requests }: Witness): void => {
  for (const { id, status, endMessage, cancelledBy } of tasks) {
    const accepted = (results.get(id) ?? []).map(({ message }) => message.id);
    assert.deepEqual(accepted, status === 'completed' ? [endMessage?.id] : [], `the results of ${id}, ${status}`);
    assert.equal(requests.get(id)?.isCancelled, status === 'cancelled');
    assert.equal(cancelledBy !== undefined, status === 'cancelled');
  }
  const ends = new Set(tasks.map(({ status }) => status));
  for (const status of ['completed', 'failed', 'cancelled'] as const) assert.ok(ends.has(status), `none is ${status}`);
};

const FINAL = ['task.completed', 'task.failed', 'task.expired', 'task.cancelled'];

/** The events of a task tell one life: it is held by one at a time, each time as the next attempt, and ends once. */
const checkStories = async (truth: Ports, tasks: Task[], witness: Witness): Promise<void> => {
  const events = await eventually(async () => {
    const all = await everyEvent(truth);
    const ended = all.filter(({ type }) => FINAL.includes(type));
    assert.equal(ended.length, tasks.length);
    return all;
  });
  const byTask = Map.groupBy(events, ({ data }) => data.taskId);
  for (const task of tasks) {
    const story = byTask.get(task.id) ?? [];
    const told = story.map(({ type }) => type);
    const context = `${task.id}: ${told.join(' ')}`;
    const versions = story.map(({ id }) => Number(id.split(':')[1]));
    assert.deepEqual(
      versions,
      versions.toSorted((a, b) => a - b),
      context,
    );
    let state = 'new';
    let attempt = 0;
    for (const { type, data } of story) {
      assert.ok(FOLLOWS[state]?.includes(type), `${type} after ${state} in ${context}`);
      if (type === 'task.claimed') {
        attempt += 1;
        assert.equal(data.attempt, attempt, context);
        assert.equal(witness.holders.get(`${task.id}#${attempt}`) ?? data.agent, data.agent, context);
      }
      state = type;
    }
    assert.equal(state, `task.${task.status}`, context);
    assert.equal(attempt, task.attempt, context);
    const overwritten = told.filter((type) => ['task.progress', 'task.released', 'task.retrying'].includes(type));
    await eventually(async () => {
      const entries = await truth.records.query({ pk: task.pk, prefix: 'history#', limit: 100 });
      assert.equal(entries.length, overwritten.length, `history of ${context}`);
    });
  }
  assert.equal(events.filter(({ type }) => type === 'task.progress').length, witness.progress);
};

const HELD = ['task.progress', 'task.released', 'task.retrying', ...FINAL];
const FREE = ['task.claimed', 'task.expired', 'task.cancelled'];
const FOLLOWS: Record<string, string[]> = {
  new: ['task.requested'],
  'task.requested': FREE,
  'task.released': FREE,
  'task.retrying': FREE,
  'task.claimed': HELD,
  'task.progress': HELD,
};

const everyEvent = async (truth: Ports): Promise<ParleyEvent[]> => {
  const events = new Map<string, ParleyEvent>();
  for (let cursor: string | undefined; ; ) {
    const page = await truth.events.read('default', { after: cursor, limit: 500 });
    if (page.events.length === 0) return [...events.values()];
    for (const event of page.events) if (!events.has(event.id)) events.set(event.id, event);
    cursor = page.cursor;
  }
};

/** Each requester reads exactly one outcome for each of its tasks, but for those that it cancelled itself. */
const checkInboxes = async (truth: Ports, tasks: Task[], requesters: TestAgent[]): Promise<void> => {
  for (const requester of requesters) {
    const awaited = tasks.filter(({ from, status }) => from === requester.id && status !== 'cancelled');
    const outcomes = new Map<string, string>();
    await eventually(async () => {
      const { body } = await insist(() => requester.call('GET', '/v1/inbox?max=100'));
      const ids = body.messages.map(({ id }: { id: string }) => id);
      for (const { id, correlationId } of body.messages) outcomes.set(id, correlationId);
      if (ids.length > 0) await insist(() => requester.call('POST', '/v1/inbox/ack', { ids }));
      assert.ok(outcomes.size >= awaited.length);
    });
    assert.deepEqual([...outcomes.values()].toSorted(), awaited.map(({ id }) => id).toSorted());
    const undelivered = awaited.filter(({ status }) => status === 'completed');
    const kept = await truth.records.query<Delivery>({ pk: inboxPk('default', requester.id), limit: 10_000 });
    assert.equal(new Set(kept.map(({ source }) => source)).size, awaited.length - undelivered.length);
    assert.equal(kept.length, awaited.length - undelivered.length);
  }
};

const checkDuplicates = async (tasks: Task[], { requests, results }: Witness): Promise<void> => {
  for (const { id } of tasks) {
    const request = requests.get(id);
    const sent = [
      ...(request ? [{ agent: request.requester, message: request.message }] : []),
      ...(results.get(id) ?? []),
    ];
    for (const { agent, message } of sent) {
      const { status, body } = await insist(() => agent.send(message));
      assert.deepEqual([status, body.duplicate], [200, true], JSON.stringify(body));
    }
  }
};
