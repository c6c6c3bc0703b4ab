import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { startDynamoDbLocal } from '../../local/cloudformation-runner/index.ts';
import { splitIntoChunks } from '../../shared/engines/aws/backoff.ts';
import { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningParley, runParley } from './running-parley.ts';
import { allItems, type StoredItem } from './stored-items.ts';

const PATIENCE_MS = 60_000;
/** A restore takes longer than any lease. */
const AGO_MS = 30 * 60_000;

const Keys = z.array(z.unknown());
const Described = z.object({
  Table: z.object({
    TableName: z.string(),
    KeySchema: Keys,
    AttributeDefinitions: Keys,
    GlobalSecondaryIndexes: z.array(z.object({ IndexName: z.string(), KeySchema: Keys, Projection: z.unknown() })),
  }),
});

/** What has long been overdue is looked for every ten minutes only, and so it is so for a moment only. */
const ofLongAgo = (item: StoredItem): StoredItem => {
  if (item.sk?.S !== 'task') return item;
  const at = (time: number) => ({ N: String(time) });
  const ago = Date.now() - AGO_MS;
  return {
    ...item,
    queuedAt: at(ago),
    ...(item.leaseUntil && { leaseUntil: at(ago) }),
    ...(item.due && { due: at(Date.now()) }),
  };
};

/** As docs/guides/deploy.md says: another table under the old name, with its items and indexes, and then a stream of its own. */
const restore = async ({ dir, table }: RunningParley, items: StoredItem[]): Promise<void> => {
  const dynamodb = await startDynamoDbLocal(join(dir, 'dynamodb'), 'us-east-1');
  const call = (operation: string, body: object): Promise<unknown> =>
    dynamodb.call(`DynamoDB_20120810.${operation}`, { TableName: table, ...body });
  try {
    const { Table: described } = Described.parse(await call('DescribeTable', {}));
    await call('DeleteTable', {});
    await call('CreateTable', { ...described, BillingMode: 'PAY_PER_REQUEST' });
    for (const chunk of splitIntoChunks(items.map(ofLongAgo), 25)) {
      const requests = chunk.map((Item) => ({ PutRequest: { Item } }));
      await dynamodb.call('DynamoDB_20120810.BatchWriteItem', { RequestItems: { [table]: requests } });
    }
    await call('UpdateTable', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } });
  } finally {
    await dynamodb.stop();
  }
};

const idsOf = (tasks: { message: { id: string } }[]): string[] => tasks.map(({ message }) => message.id);

describe('a table that was put back to an earlier moment', () => {
  it('is all that is needed to go on from there: what waited, what was held, what was to be read', {
    timeout: 240_000,
  }, async (t) => {
    const before = await runParley(t);
    const [tim, lance] = [await before.agent('tim', {}), await before.agent('lance', { domains: ['home'] })];
    const inDomain = { payload: { task: 'home.status' } };
    const done = await tim.request(inDomain);
    assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [done]);
    assert.equal((await lance.complete(done)).status, 202);
    const held = await tim.request(inDomain);
    assert.deepEqual(idsOf(await lance.claim({ wait: 10 })), [held]);
    const waiting = await tim.request(inDomain);
    await eventually(
      async () => assert.equal((await tim.call('GET', '/v1/events')).body.events.length, 6),
      PATIENCE_MS,
    );
    const items = await allItems(before);

    assert.equal((await lance.complete(held)).status, 202);
    assert.equal((await tim.call('POST', `/v1/tasks/${waiting}/cancel`)).status, 200);
    await tim.call('POST', '/v1/inbox/ack', { ids: (await tim.inbox(10)).map(({ id }) => id) });
    await before.stop();
    await restore(before, items);
    // Neither queue nor delay queue holds anything of that moment.
    rmSync(join(before.dir, 'sqs-s3'), { recursive: true });

    const parley = await runParley(t, { dir: before.dir, template: { scheduleMinuteMs: 2000 } });
    const [timAgain, lanceAgain] = [tim, lance].map(({ id, key }) => new TestAgent(id, key, parley.transport));
    assert.ok(timAgain && lanceAgain);
    const [message] = await timAgain.inbox(10);
    assert.equal(message.correlationId, done);
    const open = new Set<string>();
    await eventually(async () => {
      for (const id of idsOf(await lanceAgain.claim({ max: 10, wait: 2 }))) open.add(id);
      assert.deepEqual([...open].sort(), [held, waiting].sort());
    }, PATIENCE_MS);
    const later = await timAgain.request(inDomain);
    for (const id of [held, waiting, later]) assert.equal((await lanceAgain.complete(id)).status, 202);
    // The new table's stream is read, from its first change on.
    await eventually(async () => {
      const { events } = (await timAgain.call('GET', '/v1/events')).body;
      const completed = events.flatMap(({ type, data }: { type: string; data: { taskId: string } }) =>
        type === 'task.completed' ? [data.taskId] : [],
      );
      assert.deepEqual(completed.sort(), [done, held, waiting, later].sort());
    }, PATIENCE_MS);
  });
});
