import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { createAwsTimers } from '../../shared/engines/aws/aws-timers.ts';
import { splitIntoChunks } from '../../shared/engines/aws/backoff.ts';
import { createDynamoRecords } from '../../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../../shared/engines/aws/dynamo-table.ts';
import { systemClock } from '../../shared/ports/clock.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';

const TABLE = 'swept';
const DUE = 500;
let services: AwsServices;

before(async () => {
  services = await startAwsServices();
  await services.createTable(TABLE);
  services.queues.createQueue('delay');
});
after(() => services.stop());

describe('a sweep that finds much that is due in one shard', () => {
  it('sends all of it, in no more than ten requests at once: what waits for a connection would run out of time', async (t) => {
    const { dynamo } = createAwsClients(services.dynamo);
    const { sqs } = createAwsClients(services.faux);
    t.after(() => {
      dynamo.destroy();
      sqs.destroy();
    });
    const soon = Date.now() + 30_000;
    const puts = Array.from({ length: DUE }, (_, n) => ({
      PutRequest: { Item: { pk: { S: `p#${n}` }, sk: { S: 'task' }, due: { N: String(soon) }, dueShard: { S: '0' } } },
    }));
    for (const some of splitIntoChunks(puts, 25))
      await dynamo.send(new BatchWriteItemCommand({ RequestItems: { [TABLE]: some } }));
    let [underWay, most] = [0, 0];
    sqs.middlewareStack.add((next) => async (args) => {
      most = Math.max(most, ++underWay);
      return next(args).finally(() => underWay--);
    });
    const table = createDynamoTable(dynamo, TABLE, {}, systemClock);
    const timers = createAwsTimers(
      table,
      createDynamoRecords(table),
      sqs,
      `${services.faux.endpoint}/000000000000/delay`,
    );
    assert.equal(await timers.sweep(soon), DUE);
    assert.equal(services.queues.inspectQueue('delay')?.messages.delayed.length, DUE);
    assert.ok(most <= 10, `${most} requests at once`);
  });
});
