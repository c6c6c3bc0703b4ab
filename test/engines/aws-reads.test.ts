import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { splitIntoChunks } from '../../shared/engines/aws/backoff.ts';
import { createDynamoRecords } from '../../shared/engines/aws/dynamo-records.ts';
import { createDynamoTable } from '../../shared/engines/aws/dynamo-table.ts';
import type { Records } from '../../shared/ports/records.ts';
import { created, type Sample, sampleRef, unique } from '../contract/engine-under-test.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';
import { MovableClock } from '../support/movable-clock.ts';

const TABLE = 'read';
/** One of 2 KB costs a whole read unit by its key. */
const BULK = 'x'.repeat(2000);

let services: AwsServices;
let dynamo: DynamoDBClient;
let records: Records;
const clock = new MovableClock();

before(async () => {
  services = await startAwsServices();
  await services.createTable(TABLE);
  ({ dynamo } = createAwsClients(services.dynamo));
  records = createDynamoRecords(createDynamoTable(dynamo, TABLE, {}, clock));
});
after(async () => {
  dynamo.destroy();
  await services.stop();
});

/** Fills a place of an index in the order of its sort keys, and gives these. */
const filled = async (p: string, count: number, fields: Record<string, unknown> = {}, from = 0): Promise<string[]> => {
  const keys = Array.from({ length: count }, (_, number) => String(from + number).padStart(4, '0'));
  for (const some of splitIntoChunks(keys, 10)) {
    await Promise.all(
      some.map((s) => created(records, { ...sampleRef(), ...fields, byList: { pk: p, sk: s }, bulk: BULK })),
    );
  }
  return keys;
};

/** The read units of everything that is done meanwhile, and its requests. */
const measured = async <T>(act: () => Promise<T>) => {
  const cost = { units: 0, requests: 0 };
  dynamo.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'TOTAL' } });
      const consumed = [Reflect.get(answer.output, 'ConsumedCapacity')].flat();
      cost.units += consumed.reduce((sum, { CapacityUnits: units }) => sum + units, 0);
      cost.requests += 1;
      return answer;
    },
    { step: 'initialize', name: 'measured' },
  );
  try {
    return { result: await act(), ...cost };
  } finally {
    dynamo.middlewareStack.remove('measured');
  }
};

const sortKeys = (found: Sample[]): (string | undefined)[] => found.map(({ byList }) => byList?.sk);

describe('a read of an index of DynamoDB', () => {
  it('fetches no more records than it gives, however many stand there', async () => {
    const p = unique('p#busy');
    const keys = await filled(p, 100);
    for (const newestFirst of [false, true]) {
      const query = () => records.query<Sample>({ index: 'byList', pk: p, limit: 20, newestFirst });
      const { result, units, requests } = await measured(query);
      assert.deepEqual(sortKeys(result), (newestFirst ? keys.toReversed() : keys).slice(0, 20));
      // A unit for each, and half a one for the keys of each of four shards, which may be more than 4 KB.
      assert.ok(units <= 20 + 4, `${units} read units`);
      assert.equal(requests, 5);
    }
  });

  it('passes what has expired in few requests, and gives as many as were wanted', async () => {
    const p = unique('p#old');
    await filled(p, 60, { expires: clock.now() + 1000 });
    const keys = await filled(p, 8, {}, 60);
    clock.advance(2000);
    const query = () => records.query<Sample>({ index: 'byList', pk: p, limit: 2 });
    const { result, requests } = await measured(query);
    assert.deepEqual(sortKeys(result), keys.slice(0, 2));
    assert.ok(requests < 40, `${requests} requests`);
  });
});
