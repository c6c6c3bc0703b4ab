import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { CHANGE_FEED_KINDS } from '../../shared/effects/record-definitions.ts';
import { Reference, synthesized } from './synthesized.ts';

const StreamMapping = z.object({
  EventSourceArn: z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('StreamArn')]) }),
  FunctionName: Reference,
  BatchSize: z.number(),
  BisectBatchOnFunctionError: z.boolean(),
  MaximumRetryAttempts: z.number(),
  MaximumRecordAgeInSeconds: z.number(),
  ParallelizationFactor: z.number(),
  FunctionResponseTypes: z.array(z.string()),
  StartingPosition: z.string(),
  DestinationConfig: z.object({ OnFailure: z.object({ Destination: Reference }) }),
  FilterCriteria: z.object({ Filters: z.tuple([z.object({ Pattern: z.string() })]) }),
});

const mappingsOf = ({ all }: ReturnType<typeof synthesized>) =>
  all('AWS::Lambda::EventSourceMapping', z.unknown()).flatMap(({ properties }) => {
    const { data } = StreamMapping.safeParse(properties);
    return data ? [data] : [];
  });

describe('the stream', () => {
  const usual = synthesized();
  const [mapping, ...more] = mappingsOf(usual);
  assert.ok(mapping);

  it('is read by dispatch alone, from its very beginning', () => {
    assert.deepEqual(more, []);
    assert.match(mapping.FunctionName, /^dispatchFunction/);
    assert.equal(mapping.StartingPosition, 'TRIM_HORIZON');
  });

  it('tries what fails in its order for hours, and gives a record up that ends the function each time, alone, into the failure bucket', () => {
    assert.equal(mapping.MaximumRetryAttempts, 1000);
    assert.equal(mapping.MaximumRecordAgeInSeconds, 20 * 60 * 60);
    assert.equal(mapping.BisectBatchOnFunctionError, true);
    assert.deepEqual(mapping.FunctionResponseTypes, ['ReportBatchItemFailures']);
    const buckets = usual.all('AWS::S3::Bucket', z.unknown()).map(({ id }) => id);
    assert.match(mapping.DestinationConfig.OnFailure.Destination, /^Failures/);
    assert.ok(buckets.includes(mapping.DestinationConfig.OnFailure.Destination));
  });

  it('calls dispatch only for records that have effects', () => {
    const [{ Pattern }] = mapping.FilterCriteria.Filters;
    assert.deepEqual(JSON.parse(Pattern), { dynamodb: { Keys: { sk: { S: CHANGE_FEED_KINDS } } } });
  });

  it('is worked off as widely as the configuration says', () => {
    assert.equal(mapping.ParallelizationFactor, 2);
    assert.equal(mappingsOf(synthesized({ streamParallelism: 10 }))[0]?.ParallelizationFactor, 10);
  });
});

describe('the bus of each project', () => {
  it('has an archive that keeps events as long as the configuration says', () => {
    const { all } = synthesized();
    const archives = all('AWS::Events::Archive', z.object({ RetentionDays: z.number(), SourceArn: Reference }));
    for (const { properties } of archives) assert.equal(properties.RetentionDays, 30);
    assert.deepEqual(
      all('AWS::Events::EventBus', z.unknown()).map(({ id }) => id),
      archives.map(({ properties }) => properties.SourceArn),
    );
  });
});
