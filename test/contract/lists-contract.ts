import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  and,
  type Condition,
  equals,
  equalsAny,
  evaluateCondition,
  notExists,
  or,
} from '../../shared/ports/conditions.ts';
import type { ListedFields, ListQuery } from '../../shared/ports/lists.ts';
import type { Item, NewItem, Records } from '../../shared/ports/records.ts';
import { eventually } from '../support/eventually.ts';
import { seeded } from '../support/hostile-ports.ts';
import { type Open, token } from './engine-under-test.ts';

/** The sort key of the records that the engine must be told to list, and their fields that never change. */
export const LISTED = 'listed';
export const LISTED_FIXED = { type: 'capability', requester: 'from', domain: 'domain' };

interface Listed extends Item {
  createdAt: number;
  status: string;
  capability: string;
  from: string;
  domain?: string;
  to?: string;
  holder?: string;
  error?: string;
  text: string;
}

export const toListed = (record: Listed): ListedFields => ({
  createdAt: record.createdAt,
  status: record.status,
  type: record.capability,
  requester: record.from,
  addressee: record.to,
  holder: record.holder,
  domain: record.domain,
  error: record.error,
});

type Model = Map<string, Listed>;
type Random = () => number;

const pick = <T>(random: Random, values: readonly T[]): T => {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('there is nothing to pick from');
  return value;
};

const maybe = <T>(random: Random, values: readonly T[]): T | undefined =>
  random() < 0.5 ? undefined : pick(random, values);

const STATUSES = ['requested', 'claimed', 'completed', 'failed'];
const TYPES = ['a.one', 'a.two', 'b.one'];
const AGENTS = ['ann', 'bob', 'cid'];

const randomFields = (random: Random) => ({
  status: pick(random, STATUSES),
  to: maybe(random, AGENTS),
  holder: maybe(random, AGENTS),
  error: maybe(random, ['timeout', 'model_error']),
});

const randomRecord = (random: Random, project: string, now: number): NewItem<Listed> => ({
  pk: `${project}#${LISTED}#${pick(random, ['abc', 'abd', 'x'])}-${randomUUID()}`,
  sk: LISTED,
  // Several have the same time.
  createdAt: now - 1000 * Math.floor(random() * 40),
  capability: pick(random, TYPES),
  from: pick(random, AGENTS),
  domain: maybe(random, ['a', 'b']),
  text: 'long enough to be packed with what else never changes in a record',
  ...randomFields(random),
});

const randomLeaf = (random: Random): Condition =>
  pick<() => Condition>(random, [
    () => equals('status', pick(random, STATUSES)),
    () => equalsAny('status', pick(random, STATUSES), pick(random, STATUSES)),
    () => equals('type', pick(random, TYPES)),
    () => equals('requester', pick(random, [...AGENTS, 'nobody'])),
    () => equals('holder', pick(random, AGENTS)),
    () => equals('domain', pick(random, ['a', 'b'])),
    () => equals('error', pick(random, ['timeout', 'model_error'])),
    () => equalsAny('type'),
    () => or(equals('requester', 'ann'), equals('addressee', 'ann'), equals('holder', 'ann')),
    () => or(equals('type', 'a.one'), and(equals('status', 'requested'), notExists('addressee'))),
  ])();

const randomQuery = (random: Random, project: string, now: number): ListQuery<Listed> => {
  const time = (): number | undefined => (random() < 0.7 ? undefined : now - 1000 * Math.floor(random() * 40));
  return {
    project,
    kind: LISTED,
    toFields: toListed,
    where: and(...Array.from({ length: Math.floor(random() * 4) }, () => randomLeaf(random))),
    since: time(),
    until: time(),
    idPrefix: random() < 0.8 ? undefined : pick(random, ['a', 'ab', 'abc', 'abd-', 'x', 'nothing']),
  };
};

const matchesIn = (model: Model, { where, since = 0, until = Infinity, idPrefix = '', project }: ListQuery<Listed>) =>
  [...model.values()].filter(
    (record) =>
      record.createdAt >= since &&
      record.createdAt < until &&
      record.pk.startsWith(`${project}#${LISTED}#${idPrefix}`) &&
      evaluateCondition(where, toListed(record)),
  );

/** Newest first; those of one millisecond in any order. */
const inOrder = (records: Listed[]): string[] =>
  records
    .toSorted((a, b) => b.createdAt - a.createdAt || (a.pk < b.pk ? 1 : -1))
    .map(({ createdAt, pk, v }) => `${createdAt} ${pk} ${v}`);

const allPages = async (records: Records, query: ListQuery<Listed>, limit: number): Promise<Listed[]> => {
  const all: Listed[] = [];
  for (let after: string | undefined, pages = 0; ; pages++) {
    assert.ok(pages < 500, 'a list does not end');
    const page = await records.list(query, { after, limit });
    assert.ok(page.records.length <= limit);
    all.push(...page.records);
    if (page.cursor === undefined) return all;
    after = page.cursor;
  }
};

const assertListed = async (records: Records, model: Model, query: ListQuery<Listed>, limit: number): Promise<void> => {
  const what = JSON.stringify({ ...query, limit });
  const expected = inOrder(matchesIn(model, query));
  await eventually(async () => {
    const found = await allPages(records, query, limit);
    const times = found.map(({ createdAt }) => createdAt);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
      what,
    );
    assert.deepEqual(inOrder(found), expected, what);
    assert.deepEqual(await records.count(query), { value: expected.length, isExact: true }, what);
  });
};

export const listsContract = (name: string, open: Open): void => {
  describe(`lists of ${name}`, () => {
    it('have what a model of random records has, by any filter, in pages, counted, and after a crash', async (t) => {
      const engine = await open(t);
      const random = seeded(17);
      const project = `p${randomUUID().slice(0, 8)}`;
      const model: Model = new Map();
      const keep = (record: Listed): unknown => model.set(record.pk, record);
      const create = async (): Promise<void> => {
        const made = await engine.ports.records.create<Listed>(randomRecord(random, project, engine.now()), token());
        if (made.outcome === 'written') keep(made.after);
      };
      const change = async (): Promise<void> => {
        const { pk, sk } = pick(random, [...model.values()]);
        const fields = randomFields(random);
        const unset = Object.entries(fields).flatMap(([field, value]) => (value === undefined ? field : []));
        const written = await engine.ports.records.update<Listed>({ pk, sk }, { set: fields, unset }, token());
        if (written.outcome === 'written') keep(written.after);
      };
      const remove = async (): Promise<void> => {
        const { pk, sk } = pick(random, [...model.values()]);
        await engine.ports.records.delete({ pk, sk });
        model.delete(pk);
      };
      // Of another project, and of another kind.
      await engine.ports.records.create<Listed>(randomRecord(random, `${project}2`, engine.now()), token());
      await engine.ports.records.create<Listed>(
        { ...randomRecord(random, project, engine.now()), sk: 'unlisted' },
        token(),
      );
      for (let round = 0; round < 3; round++) {
        for (let count = 0; count < 40; count++) await create();
        for (let count = 0; count < 40; count++) await change();
        for (let count = 0; count < 6; count++) await remove();
        if (round === 1) await engine.crash();
        for (let count = 0; count < 25; count++) {
          const limit = pick(random, [1, 3, 10, 100]);
          await assertListed(engine.ports.records, model, randomQuery(random, project, engine.now()), limit);
        }
        if (round === 1) {
          await change();
          await remove();
          await create();
        }
      }
    });

    it('have no record that has expired', async (t) => {
      const { ports, now, pass } = await open(t);
      const random = seeded(1);
      const project = `p${randomUUID().slice(0, 8)}`;
      const query = { project, kind: LISTED, toFields: toListed, where: and() };
      const kept = await ports.records.create<Listed>(randomRecord(random, project, now()), token());
      const gone = { ...randomRecord(random, project, now()), expires: now() + 1000 };
      await ports.records.create<Listed>(gone, token());
      await eventually(async () => assert.equal((await ports.records.count(query)).value, 2));
      await pass(1000);
      const { records } = await ports.records.list(query, { limit: 10 });
      assert.deepEqual(inOrder(records), kept.outcome === 'written' && inOrder([kept.after]));
      assert.deepEqual(await ports.records.count(query), { value: 1, isExact: true });
    });

    it('refuse a cursor that no page gave', async (t) => {
      const { ports } = await open(t);
      const query = { project: 'p', kind: LISTED, toFields: toListed, where: and() };
      for (const after of ['', 'x', '00000000000001', "00000000000001#'; --"])
        await assert.rejects(ports.records.list(query, { limit: 1, after }), { code: 'invalid_request' });
    });
  });
};
