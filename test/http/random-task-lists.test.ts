import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { TASK_STATUSES, type Task, taskRef } from '../../shared/model/task.ts';
import type { Caller, TestAgent } from '../support/api.ts';
import { type Random, seeded } from '../support/hostile-ports.ts';
import { inTurns } from '../support/in-turns.ts';
import { isLong } from '../support/scale.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { settled } from './refusal.ts';
import { pagesOf } from './task-pages.ts';

const TASKS = isLong ? 400 : 80;
const QUERIES = isLong ? 1000 : 120;
const TYPES = ['security.briefing', 'security.scan', 'home.scene'];
const CONVERSATIONS = ['c-1', 'c-2'];
const NAMES = ['ann', 'bob', 'cid'];

const pick = <T>(random: Random, values: readonly T[]): T => {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('there is nothing to pick from');
  return value;
};

/** One of the things that may become of a task, or nothing. */
const liveOn = async (random: Random, parley: TestParley, agents: TestAgent[], id: string): Promise<void> => {
  const { status, to } = await read(parley, id);
  const worker = agents.find((one) => one.id === to) ?? pick(random, agents);
  const calls: (() => Promise<unknown>)[] = [
    () => worker.claimed(id),
    () => worker.progress(id),
    () => worker.complete(id),
    () => worker.fail(id, { error: pick(random, ['skill_missing', 'model_error']), message: 'no' }),
    () => parley.admin.call('POST', `/v1/tasks/${id}/${pick(random, ['cancel', 'retry', 'release'])}`, {}),
    async () => parley.clock.advance(Math.floor(random() * 2000)),
  ];
  if (status !== 'completed') await pick(random, calls)();
};

const read = async ({ parley }: TestParley, id: string): Promise<Task> => {
  const task = await parley.deps.records.get(taskRef('default', id));
  assert.ok(task);
  return task;
};

type Filter = [name: string, value: string, holds: (task: Task) => boolean];

const isRetrying = ({ status, notBefore }: Task): boolean => status === 'requested' && notBefore !== undefined;

const randomFilter = (random: Random, tasks: Task[]): Filter =>
  pick<() => Filter>(random, [
    () => by('type', pick(random, [...TYPES, 'none']), (task) => task.capability),
    () => by('error', pick(random, ['skill_missing', 'model_error']), (task) => task.error?.code),
    () => by('requester', pick(random, NAMES), ({ from }) => from),
    () => by('holder', pick(random, NAMES), ({ holder }) => holder),
    () => by('domain', pick(random, ['security', 'home']), ({ domain }) => domain),
    () => by('conversation', pick(random, CONVERSATIONS), ({ conversation }) => conversation),
    () => {
      const name = pick(random, NAMES);
      return ['agent', name, ({ from, to, holder }) => [from, to, holder].includes(name)];
    },
    () => {
      const some = TASK_STATUSES.filter(() => random() < 0.4);
      const statuses = some.length > 0 ? some : TASK_STATUSES;
      return ['status', statuses.join(), ({ status }) => statuses.includes(status)];
    },
    () => {
      const { createdAt: at } = pick(random, tasks);
      return ['since', new Date(at).toISOString(), ({ createdAt }) => createdAt >= at];
    },
    () => {
      const { createdAt: at } = pick(random, tasks);
      return ['until', new Date(at).toISOString(), ({ createdAt }) => createdAt < at];
    },
    () => ['retrying', 'true', isRetrying],
    () => ['waits', 'true', ({ status }) => status === 'input_required'],
    () => {
      const prefix = pick(random, tasks).id.slice(0, pick(random, [1, 2, 8, 36]));
      return ['idPrefix', prefix, ({ id }) => id.startsWith(prefix)];
    },
  ])();

const by = (name: string, value: string, get: (task: Task) => string | undefined): Filter => [
  name,
  value,
  (task) => get(task) === value,
];

const isDead = ({ status }: Task): boolean => status === 'failed' || status === 'expired';

/** Each once, and the newest end first. */
const assertDeadLetters = async (admin: Caller, query: string, expected: Task[], limit: number): Promise<void> => {
  const found = (await pagesOf(admin, `/v1/dead-letters?${query}`, limit)).flat();
  assert.deepEqual(found.toSorted(), expected.map(({ id }) => id).toSorted(), query);
  const ends = found.map((id) => expected.find((task) => task.id === id)?.endedAt ?? 0);
  assert.deepEqual(
    ends,
    ends.toSorted((a, b) => b - a),
    query,
  );
  const { body } = await admin.call('GET', `/v1/dead-letters?${query}count=true&limit=1`);
  assert.deepEqual(body.count, { value: expected.length, isExact: true }, query);
};

describe('a list of tasks by random filters', () => {
  it('has what each task is, in pages and counted, whatever became of the tasks', async (t) => {
    const random = seeded(isLong ? Date.now() : 22);
    const parley = await testParley(t);
    const { admin, clock } = parley;
    const agents = await inTurns(NAMES, (name) => parley.agent(name, { domains: ['security', 'home'] }));
    const ids = await inTurns(Array.from({ length: TASKS }), async () => {
      if (random() < 0.5) clock.advance(Math.floor(random() * 500));
      const sender = pick(random, agents);
      const to =
        random() < 0.5
          ? pick(
              random,
              NAMES.filter((name) => name !== sender.id),
            )
          : undefined;
      const payload = { task: pick(random, TYPES), params: {}, ...(random() < 0.2 && { timeout: 60 }) };
      return sender.request({ id: randomUUID(), to, conversationId: pick(random, CONVERSATIONS), payload });
    });
    const live = () => inTurns(Array.from({ length: TASKS }), () => liveOn(random, parley, agents, pick(random, ids)));
    await live();
    clock.advance(61_000);
    await settled(parley);
    await live();
    const [ann, bob] = agents;
    const last = (await ann?.request({ to: 'bob' })) ?? '';
    await bob?.fail(last);
    await settled(parley);
    // What settles has a task of its own.
    const { body } = await admin.call('GET', '/v1/tasks?requester=witness');
    const all = [...ids, last, ...body.tasks.map(({ id }: { id: string }) => id)];
    const tasks = await inTurns(all, (id) => read(parley, id));
    assert.ok(new Set(tasks.map(({ status }) => status)).size >= 6 && tasks.some(isRetrying));
    for (let count = 0; count < QUERIES; count++) {
      const filters = new Map(
        Array.from({ length: Math.floor(random() * 4) }, () => randomFilter(random, tasks)).map((one) => [one[0], one]),
      );
      const query = [...filters.values()].map(([name, value]) => `${name}=${encodeURIComponent(value)}&`).join('');
      const expected = tasks.filter((task) => [...filters.values()].every(([, , holds]) => holds(task)));
      const found = (await pagesOf(admin, `/v1/tasks?${query}`, pick(random, [1, 7, 100]))).flat();
      const missing = expected.filter(({ id }) => !found.includes(id)).map(({ id }) => id);
      const extra = found.filter((id) => !expected.some((task) => task.id === id));
      assert.deepEqual(
        { missing, extra, length: found.length },
        { missing: [], extra: [], length: expected.length },
        query,
      );
      const counted = (await admin.call('GET', `/v1/tasks?${query}count=true&limit=1`)).body.count;
      assert.deepEqual(counted, { value: expected.length, isExact: true }, query);
      if (!['status', 'retrying', 'waits'].some((name) => filters.has(name)))
        await assertDeadLetters(admin, query, expected.filter(isDead), pick(random, [1, 7, 100]));
    }
  });
});
