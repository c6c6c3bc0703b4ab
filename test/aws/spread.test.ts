import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { type Attributes, DUE_SHARDS, INDEX_SHARDS, ItemCodec } from '../../shared/engines/aws/item-codec.ts';
import { toSqsEntry } from '../../shared/engines/aws/sqs-queue.ts';
import type { Task } from '../../shared/model/task.ts';
import { isTask } from '../../shared/model/task.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { QueueMessage } from '../../shared/ports/queues.ts';
import { testParley } from '../support/test-parley.ts';

const TASKS = 10_000;

/** One task as it was after each write, and its queue messages. */
interface Life {
  id: string;
  tasks: Task[];
  messages: QueueMessage[];
}

/** Writes down what passes through the ports. */
const writtenDown = (ports: Ports, life: Omit<Life, 'id'>): Ports => ({
  ...ports,
  records: {
    ...ports.records,
    create: async (item, token) => {
      const created = await ports.records.create(item, token);
      if (created.outcome === 'written' && isTask(created.after)) life.tasks.push(created.after);
      return created;
    },
    update: async (key, change, token, orCreate) => {
      const updated = await ports.records.update(key, change, token, orCreate);
      if (updated.outcome === 'written' && isTask(updated.after)) life.tasks.push(updated.after);
      return updated;
    },
  },
  queues: {
    ...ports.queues,
    send: (messages) => {
      life.messages.push(...messages);
      return ports.queues.send(messages);
    },
  },
});

/** Ids that look random and are the same in every run, so that the spread is. */
const taskId = (n: number): string =>
  hash('sha256', `task ${n}`).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');

/** The same value, about another task. */
const renamed = <T>(value: T, from: string, to: string): T => JSON.parse(JSON.stringify(value).replaceAll(from, to));

/** Packing costs time and touches no key. */
const shelf = new ItemCodec({});
const packing = new ItemCodec(RECORDS);
const KEYS = ['pk', 'sk', 'byListPk', 'byListSk', 'byHolderPk', 'byHolderSk', 'dueShard', 'due'];

/** How many items each key got. */
const countsOf = (items: Attributes[], attribute: string): number[] => {
  const counts = new Map<string, number>();
  for (const item of items) {
    const key = item[attribute]?.S;
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts.values()];
};

const assertFair = (counts: number[], keys: number): void => {
  assert.equal(counts.length, keys);
  const fair = TASKS / keys;
  // Five standard deviations of a fair spread.
  const most = fair + 5 * Math.sqrt(fair);
  assert.ok(Math.max(...counts) <= most, `${Math.max(...counts)} for one key, where ${fair} would be fair`);
};

describe(`${TASKS} tasks of one requester, one domain and one agent`, () => {
  const life: Life = { id: '', tasks: [], messages: [] };
  const known = new Map<string, Attributes[]>();
  /** The items of all tasks as they are in one state. */
  const stored = (status: Task['status']): Attributes[] => {
    const task = life.tasks.find((each) => each.status === status) ?? assert.fail(`never ${status}`);
    const items =
      known.get(status) ?? Array.from({ length: TASKS }, (_, n) => shelf.encode(renamed(task, life.id, taskId(n))));
    known.set(status, items);
    return items;
  };

  before(async () => {
    const parley = await testParley({ after }, { wrapPorts: (ports) => writtenDown(ports, life) });
    const [tim, galahad] = [await parley.agent('tim', {}), await parley.agent('galahad')];
    life.id = await tim.request();
    await galahad.claim();
    await galahad.complete(life.id);
  });

  it('have the same keys packed and unpacked', () => {
    for (const task of life.tasks) {
      const [packed, plain] = [packing.encode(task), shelf.encode(task)];
      for (const key of KEYS) assert.deepEqual(packed[key], plain[key]);
      assert.ok('z' in packed);
    }
  });

  it('have a partition of the table each', () => {
    for (const status of ['requested', 'claimed', 'completed'] as const)
      assertFair(countsOf(stored(status), 'pk'), TASKS);
  });

  it('spread what is due over all shards', () => {
    assertFair(countsOf(stored('requested'), 'dueShard'), DUE_SHARDS);
    assertFair(countsOf(stored('claimed'), 'dueShard'), DUE_SHARDS);
  });

  it('spread what the agent holds', () => assertFair(countsOf(stored('claimed'), 'byHolderPk'), INDEX_SHARDS));

  it("spread what stands in the requester's inbox", () =>
    assertFair(countsOf(stored('completed'), 'byListPk'), INDEX_SHARDS));

  it('are in no index where nobody looks for them', () => {
    assert.deepEqual(countsOf(stored('requested'), 'byHolderPk'), []);
    assert.deepEqual(countsOf(stored('completed'), 'byHolderPk'), []);
    assert.ok(stored('requested').every(({ byListSk }) => byListSk === undefined));
    assert.ok(stored('completed').every(({ due }) => due === undefined));
  });

  it('have a message group each, so that none waits for another', () => {
    const [message] = life.messages;
    assert.ok(message);
    const groups = Array.from(
      { length: TASKS },
      (_, n) => toSqsEntry(renamed(message, life.id, taskId(n)), 0).MessageGroupId,
    );
    assert.equal(new Set(groups).size, TASKS);
  });
});
