import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { compilePattern } from '../../local/cloudformation-runner/index.ts';
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
  MaximumBatchingWindowInSeconds: z.number(),
  FilterCriteria: z.object({ Filters: z.array(z.object({ Pattern: z.string() })) }),
});

const mappingsOf = ({ all }: ReturnType<typeof synthesized>) =>
  all('AWS::Lambda::EventSourceMapping', z.unknown()).flatMap(({ properties }) => {
    const { data } = StreamMapping.safeParse(properties);
    return data ? [data] : [];
  });

describe('the stream', () => {
  const usual = synthesized();
  const mappings = mappingsOf(usual);

  it('is read by dispatch alone, from its very beginning, by as many as a shard has room for', () => {
    assert.equal(mappings.length, 2);
    for (const mapping of mappings) {
      assert.match(mapping.FunctionName, /^dispatchFunction/);
      assert.equal(mapping.StartingPosition, 'TRIM_HORIZON');
    }
  });

  it('tries what fails in its order for hours, and gives a record up that ends the function each time, alone, into the failure bucket', () => {
    for (const mapping of mappings) {
      assert.equal(mapping.MaximumRetryAttempts, 1000);
      assert.equal(mapping.MaximumRecordAgeInSeconds, 20 * 60 * 60);
      assert.equal(mapping.BisectBatchOnFunctionError, true);
      assert.deepEqual(mapping.FunctionResponseTypes, ['ReportBatchItemFailures']);
      const buckets = usual.all('AWS::S3::Bucket', z.unknown()).map(({ id }) => id);
      assert.match(mapping.DestinationConfig.OnFailure.Destination, /^Failures/);
      assert.ok(buckets.includes(mapping.DestinationConfig.OnFailure.Destination));
    }
  });

  it('calls dispatch only for records that have effects, and for each of them in one mapping', () => {
    const matches = mappings.map(({ FilterCriteria: { Filters } }) =>
      Filters.map(({ Pattern }) => compilePattern(JSON.parse(Pattern))),
    );
    const readers = (dynamodb: object) => matches.map((all) => all.filter((one) => one({ dynamodb })).length);
    const keys = (kind: string) => ({ Keys: { pk: { S: 'p' }, sk: { S: kind } } });
    for (const kind of CHANGE_FEED_KINDS) {
      const images = [{}, { NewImage: { v: { N: '1' } } }, { NewImage: { v: { N: '1' }, w: { N: '1' } } }];
      for (const image of images) {
        const found = readers({ ...keys(kind), ...image });
        assert.equal(
          found.reduce((sum, count) => sum + count, 0),
          1,
          `${kind} ${JSON.stringify(image)}: ${found}`,
        );
      }
    }
    assert.deepEqual(readers(keys('history')), [0, 0]);
    const [task, awaited] = [{ NewImage: {} }, { NewImage: { w: { N: '1' } } }];
    assert.deepEqual(
      [readers({ ...keys('task'), ...task }), readers({ ...keys('task'), ...awaited })],
      [
        [1, 0],
        [0, 1],
      ],
    );
    assert.deepEqual(
      [readers(keys('turn')), readers(keys('batch')), readers(keys('health'))],
      [
        [0, 1],
        [0, 1],
        [1, 0],
      ],
    );
  });

  it('waits for company only with what nobody waits for', () => {
    assert.deepEqual(
      mappings.map(({ MaximumBatchingWindowInSeconds }) => MaximumBatchingWindowInSeconds),
      [1, 0],
    );
  });

  it('is worked off as widely as the configuration says', () => {
    assert.deepEqual(
      mappings.map(({ ParallelizationFactor }) => ParallelizationFactor),
      [2, 2],
    );
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
