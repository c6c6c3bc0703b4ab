import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, beforeEach, describe, it } from 'node:test';
import { buildJsonRequest, parseJsonResponse } from '../../local/cloudformation-runner/backends/call-json.ts';
import { eventually } from '../support/eventually.ts';
import { below, deployed, getAtt, ref, type SmallDeployment, TABLE, wholeSuite } from './small-template.ts';
import { TELL, type Witness, witnessFor } from './witness.ts';

/**
 * Tells each batch as [key, number] of its records. What a record's `act` says fails: `throw` throws whenever it is
 * there, `once` throws the first time, `report` reports its record until it has been reported twice.
 */
const READER = (reports: boolean) => `
${TELL}
const seen = new Map();
export const handler = async ({ Records }) => {
  const images = Records.map(({ dynamodb }) => dynamodb.NewImage);
  await tell(images.map(({ pk, n }) => [pk.S, Number(n.N)]));
  const count = (key) => seen.set(key, (seen.get(key) ?? 0) + 1).get(key);
  for (const { pk, act } of images) {
    if (act?.S === 'throw' || (act?.S === 'once' && count(pk.S) === 1)) throw new Error('no: ' + pk.S);
  }
  const failed = ${reports} ? Records.filter((record, index) => images[index].act?.S === 'report' && count(images[index].pk.S) <= 2) : [];
  return { batchItemFailures: failed.map(({ dynamodb }) => ({ itemIdentifier: dynamodb.SequenceNumber })) };
};
`;

type Seen = [key: string, n: number];

describe('a function that reads the stream of a table', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;
  let witness: Witness;

  const call = async (service: string, target: string, body: object): Promise<unknown> => {
    const request = buildJsonRequest(here.createAccessKey('writer'), 'us-east-1', service, target, body);
    return parseJsonResponse(target, await here.gateway.handle(request));
  };
  const put = (pk: string, n: number, more: object = {}, sk = 'task') =>
    call('dynamodb', 'DynamoDB_20120810.PutItem', {
      TableName: 'things',
      Item: { pk: { S: pk }, sk: { S: sk }, n: { N: String(n) }, ...more },
    });
  /** Written in one transaction, they are read together. */
  const putTogether = (records: [pk: string, act?: string, sk?: string][]) =>
    call('dynamodb', 'DynamoDB_20120810.TransactWriteItems', {
      TransactItems: records.map(([pk, act, sk = 'task'], n) => ({
        Put: {
          TableName: 'things',
          Item: { pk: { S: pk }, sk: { S: sk }, n: { N: String(n) }, ...(act && { act: { S: act } }) },
        },
      })),
    });
  const seen = (): Seen[] => witness.heard.flat();
  const of = (key: string): number[] =>
    seen()
      .filter(([pk]) => pk === key)
      .map(([, n]) => n);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is there, and fail where it is not
  const failures = async (): Promise<{ key: string; body: any }[]> => {
    const { authorization = '' } = buildJsonRequest(here.createAccessKey('writer'), 'us-east-1', 's3', '', {}).headers;
    const get = (path: string) =>
      here.gateway.handle({ method: 'GET', path, headers: { authorization }, body: Buffer.alloc(0) });
    const listing = (await get('/failures?list-type=2')).body.toString();
    const keys = [...listing.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key);
    return Promise.all(
      keys.map(async (key) => ({ key, body: JSON.parse((await get(`/failures/${key}`)).body.toString()) })),
    );
  };

  before(async () => {
    witness = await witnessFor(owner);
    const read = [
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:DescribeStream',
      'dynamodb:ListStreams',
    ];
    here = await deployed(
      owner,
      {
        reader: {
          code: READER(true),
          env: { WITNESS: witness.address },
          allow: [
            { Action: read, Resource: getAtt('Table', 'StreamArn') },
            { Action: 's3:PutObject', Resource: below('Failures', '/*') },
            { Action: 's3:ListBucket', Resource: getAtt('Failures') },
          ],
        },
        writer: {
          code: '',
          allow: [
            { Action: 'dynamodb:PutItem', Resource: getAtt('Table') },
            { Action: 's3:GetObject', Resource: below('Failures', '/*') },
            { Action: 's3:ListBucket', Resource: getAtt('Failures') },
          ],
        },
      },
      {
        ...TABLE,
        Failures: { Type: 'AWS::S3::Bucket', Properties: { BucketName: 'failures' } },
        Mapping: {
          Type: 'AWS::Lambda::EventSourceMapping',
          Properties: {
            FunctionName: ref('reader'),
            EventSourceArn: getAtt('Table', 'StreamArn'),
            StartingPosition: 'TRIM_HORIZON',
            BatchSize: 100,
            ParallelizationFactor: 2,
            MaximumRetryAttempts: 2,
            MaximumRecordAgeInSeconds: 3600,
            BisectBatchOnFunctionError: true,
            FunctionResponseTypes: ['ReportBatchItemFailures'],
            FilterCriteria: {
              Filters: [{ Pattern: JSON.stringify({ dynamodb: { Keys: { sk: { S: ['task', 'health'] } } } }) }],
            },
            DestinationConfig: { OnFailure: { Destination: getAtt('Failures') } },
          },
        },
      },
    );
  });

  beforeEach(() => {
    witness.heard.length = 0;
  });

  it('gets the changes of each key in order', async () => {
    const keys = Array.from({ length: 5 }, () => randomUUID());
    const writes = keys.map(async (pk) => {
      for (let n = 0; n < 20; n++) await put(pk, n);
    });
    await Promise.all(writes);
    await witness.until(() => keys.every((key) => of(key).length === 20));
    for (const key of keys)
      assert.deepEqual(
        of(key),
        Array.from({ length: 20 }, (_, n) => n),
      );
  });

  it('gets only what its filter lets pass', async () => {
    const [other, task] = [randomUUID(), randomUUID()];
    await put(other, 1, {}, 'history');
    await put(other, 2, {}, 'health');
    await put(task, 3);
    await witness.until(() => of(task).length === 1 && of(other).length === 1);
    assert.deepEqual(of(other), [2]);
  });

  it('gets a batch again that failed once, and each key still in order', async () => {
    const key = randomUUID();
    await put(key, 0, { act: { S: 'once' } });
    await put(key, 1);
    // Both may be in the batch that fails, so that the second is told before the first comes again.
    await witness.until(() => of(key).filter((n) => n === 0).length >= 2 && of(key).at(-1) === 1);
    assert.deepEqual([...new Set(of(key))], [0, 1]);
  });

  it('goes on past a poison record, which ends in the bucket with the event that it was in', async () => {
    const poison = `poison-${randomUUID()}`;
    const good = Array.from({ length: 9 }, (_, n) => `good-${n}-${randomUUID()}`);
    await putTogether(
      [...good.slice(0, 4), poison, ...good.slice(4)].map((pk) => [pk, pk === poison ? 'throw' : undefined]),
    );
    await put(poison, 99);
    const kept = await eventually(async () => {
      const found = (await failures()).filter(({ body }) => body.payload.includes(poison));
      assert.equal(found.length, 1);
      return found[0];
    });
    // The first attempt and two retries of the record by itself.
    const isAlone = (batch: Seen[]): boolean => batch.length === 1 && batch[0]?.[0] === poison && batch[0][1] !== 99;
    assert.equal(witness.heard.filter(isAlone).length, 3);
    const heardSince = () => witness.heard.slice(witness.heard.findLastIndex(isAlone) + 1).flat();
    await witness.until(() => heardSince().some(([key, n]: Seen) => key === poison && n === 99));
    assert.ok(good.every((key) => of(key).length > 0));
    assert.match(
      kept?.key ?? '',
      /^aws\/lambda\/Parley-Mapping\/shardId-[^/]+\/\d{4}\/\d\d\/\d\d\/\d{4}-\d\d-\d\dT\d\d\.\d\d\.\d\d-[0-9a-f-]{36}$/,
    );
    const { requestContext, responseContext, DDBStreamBatchInfo: info, payload, version } = kept?.body ?? {};
    assert.equal(version, '1.0');
    assert.equal(requestContext.condition, 'RetryAttemptsExhausted');
    assert.equal(requestContext.approximateInvokeCount, 3);
    assert.equal(requestContext.functionArn, 'arn:aws:lambda:us-east-1:000000000000:function:reader');
    assert.equal(responseContext.functionError, 'Unhandled');
    assert.equal(info.batchSize, 1);
    const { Records } = JSON.parse(payload);
    assert.equal(Records.length, 1);
    assert.equal(Records[0].dynamodb.NewImage.pk.S, poison);
    assert.equal(Records[0].dynamodb.SequenceNumber, info.startSequenceNumber);
    assert.equal(Records[0].eventSourceARN, 'arn:aws:dynamodb:us-east-1:000000000000:table/things/stream/local');
  });

  it('gets again what it reported, and nothing that came before it', async () => {
    const key = randomUUID();
    const before = here.trouble.length;
    // With one partition key they are in one lane, and written together in one batch.
    await putTogether([
      [key, undefined, 'health'],
      [key, 'report', 'task'],
    ]);
    await witness.until(() => of(key).filter((n) => n === 1).length === 3);
    assert.deepEqual(of(key), [0, 1, 1, 1]);
    assert.equal(here.trouble.length, before, here.trouble.join('\n'));
  });
});
