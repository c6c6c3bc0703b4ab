import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import baseConfig from '../../parley.config.ts';
import { executeEffects } from '../../shared/effects/effect-handlers.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { FIRST_FORMAT } from '../../shared/engines/embedded/sql-schema.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import type { HistoryEntry } from '../../shared/model/history.ts';
import { taskRef } from '../../shared/model/task.ts';
import type { Key } from '../../shared/ports/records.ts';
import { depsOn, engineOn, startTable, TABLE } from '../aws/worlds.ts';
import { TestAgent } from '../support/api.ts';
import { TestClock } from '../support/test-clock.ts';
import { decodeItem, encodeItem, loadFixture } from './fixture.ts';
import { assertSameFacts, readAnswers, renewKeys, transportTo, workOff } from './story.ts';

const { keys: earlierKeys, answers, time, ...fixture } = loadFixture(FIRST_FORMAT).aws;
const items = fixture.items.map(decodeItem);
const domains = baseConfig.projects.default?.domains ?? {};
const config = { ...baseConfig, projects: { world0: { domains, relay: false } } };

/** The functions of the deployment before, which know one form only. */
const EARLIER_RECORDS = {
  ...RECORDS,
  history: { ...RECORDS.history, migration: undefined },
};

/** A progress report that is not the newest entry of its task. */
const entryItem = items.find(({ sk, kind }) => sk?.S?.startsWith('history#') && kind?.S === 'progress');
assert.ok(entryItem);
const ref: Key = { pk: entryItem.pk?.S ?? '', sk: entryItem.sk?.S ?? '' };
const taskCreatedAt = Number(entryItem.cycle?.N);
const version = Number(entryItem.version?.N);

describe('items that the first kept format left in the table', () => {
  let table: Awaited<ReturnType<typeof startTable>>;
  let dynamo: DynamoDBClient;
  let deps: Deps;
  let earlier: Deps;
  before(async () => {
    table = await startTable();
    dynamo = table.dynamo;
    const clock = new TestClock(time);
    const { services, clients } = table;
    deps = depsOn(engineOn(services, clients, clock, 'delay'), clock, config);
    earlier = depsOn(engineOn(services, clients, clock, 'earlier', EARLIER_RECORDS), clock, config);
  });
  after(async () => {
    dynamo.destroy();
    table.clients.sqs.destroy();
    await table.services.stop();
  });
  beforeEach(async () => {
    for (const item of items) await dynamo.send(new PutItemCommand({ TableName: TABLE, Item: item }));
  });

  const readStored = async () =>
    (await dynamo.send(new GetItemCommand({ TableName: TABLE, Key: { pk: { S: ref.pk }, sk: { S: ref.sk } } }))).Item;
  const assertUnchanged = async () => assert.deepEqual(encodeItem((await readStored()) ?? {}), encodeItem(entryItem));
  const append = (by: Deps, fields: object) => {
    const entry = {
      ...ref,
      kind: 'progress',
      attempt: 1,
      changedAt: time,
      expires: time + 1e9,
      taskCreatedAt,
      version,
    };
    return executeEffects(by, [{ kind: 'appendHistory', entry: { ...entry, ...fields } as HistoryEntry }]);
  };
  const readMessage = async (by: Deps): Promise<string | undefined> => {
    const entry = await by.records.get<HistoryEntry>(ref);
    return entry?.message;
  };

  it('answer all that they answered before, and are read without a write', async () => {
    const keys = await renewKeys(deps, 'world0', earlierKeys);
    const read = () => readAnswers(transportTo(deps), keys, Object.keys(answers));
    // That the new keys were used is written once.
    await read();
    const sent: unknown[] = [];
    const stack = dynamo.middlewareStack;
    stack.add(
      (next, { commandName }) =>
        (args) => {
          sent.push(commandName);
          return next(args);
        },
      { step: 'initialize', name: 'sent' },
    );
    assertSameFacts(await read(), answers);
    stack.remove('sent');
    assert.deepEqual(
      sent.filter((name) => !/^(Get|BatchGet|Query)/.test(String(name))),
      [],
    );
    await assertUnchanged();
  });

  it('are worked off to the end: what is held, waits, has failed, and is unread', async () => {
    const keys = await renewKeys(deps, 'world0', earlierKeys);
    await workOff(transportTo(deps), keys, answers);
  });

  it('keep fields of a newer version that functions of this one do not know', async () => {
    const [held] = Object.values(answers).flatMap((answer) => {
      const { id, state } = answer as Record<string, string>;
      return state === 'in_progress' && id !== undefined ? id : [];
    });
    const key = taskRef('world0', held ?? '');
    const newer = { set: { writtenByANewerVersion: { deep: [1, 'a'] } } };
    await deps.records.update(key, newer, 'by a newer function');
    const keys = await renewKeys(deps, 'world0', earlierKeys);
    const { status } = await new TestAgent('lance', keys.lance ?? '', transportTo(deps)).progress(held ?? '', {
      percent: 90,
    });
    assert.equal(status, 202);
    const task = (await deps.records.get(key)) as unknown as Record<string, unknown>;
    assert.deepEqual([task.status, task.writtenByANewerVersion], ['in_progress', { deep: [1, 'a'] }]);
  });

  it('keep their place from an entry that comes again late, and lose it to a newer one', async () => {
    await append(deps, { version: version - 1, message: 'late' });
    await assertUnchanged();
    await append(deps, { version: version + 64, message: 'newer' });
    assert.equal(await readMessage(deps), 'newer');
  });

  it('lose their place to an entry of another task that got the id', async () => {
    await append(deps, { version: 1, taskCreatedAt: taskCreatedAt + 1, message: 'other' });
    assert.equal(await readMessage(deps), 'other');
  });

  it('can be changed by functions of the deployment before and of this one side by side', async () => {
    await append(deps, { version: version + 64, message: 'now' });
    const stored = await readStored();
    assert.deepEqual([stored?.cycle, stored?.taskCreatedAt], [entryItem.cycle, entryItem.cycle]);
    const read = (await earlier.records.get(ref)) as unknown as Record<string, unknown>;
    assert.deepEqual([read.cycle, read.message], [taskCreatedAt, 'now']);
    const change = { set: { cycle: taskCreatedAt + 5, message: 'earlier' } };
    await earlier.records.update(ref, change, 'by an earlier function');
    const entry = await deps.records.get<HistoryEntry>(ref);
    assert.deepEqual([entry?.taskCreatedAt, entry?.message], [taskCreatedAt + 5, 'earlier']);
    assert.equal(entry && 'cycle' in entry, false);
    await deps.records.update(ref, { unset: ['taskCreatedAt'] }, 'by this one');
    const left = await readStored();
    assert.deepEqual([left?.cycle, left?.taskCreatedAt], [undefined, undefined]);
  });

  it('give a created record both forms, and one write', async () => {
    const key = { pk: 'world0#task#new', sk: 'history#1' } as const;
    const written = await deps.records.create<HistoryEntry>(
      { ...key, taskCreatedAt: 7, version: 1, kind: 'end', attempt: 1, changedAt: time },
      'token',
    );
    assert.ok(written.outcome === 'written' && written.after.taskCreatedAt === 7 && !('cycle' in written.after));
    const read = (await earlier.records.get(key)) as unknown as Record<string, unknown>;
    assert.equal(read.cycle, 7);
  });
});
