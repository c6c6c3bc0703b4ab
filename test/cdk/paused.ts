import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Reference, synthesized } from './synthesized.ts';

const Mapping = z.object({ FunctionName: Reference, Enabled: z.boolean().default(true) });
const Rule = z.object({ State: z.string() });

describe('a paused deployment', () => {
  const [running, paused] = [synthesized(), synthesized({ paused: true })];
  const reading = ({ all }: typeof running) =>
    all('AWS::Lambda::EventSourceMapping', Mapping)
      .filter(({ properties }) => properties.Enabled)
      .map(({ properties }) => properties.FunctionName.replace(/Function.*/, ''));

  it('reads neither the stream nor a queue', () => {
    assert.deepEqual(reading(running).sort(), ['deadletters', 'deadletters', 'dispatch', 'dispatch', 'due']);
    assert.deepEqual(reading(paused), []);
  });

  it('knows nothing of the stream, so that it finds the new one of a restored table afterwards', () => {
    const naming = ({ template }: typeof running) => JSON.stringify(template.Resources).includes('"StreamArn"');
    assert.equal(naming(running), true);
    assert.equal(naming(paused), false);
  });

  it('runs nothing by the clock', () => {
    const states = ({ all }: typeof running) =>
      new Set(all('AWS::Events::Rule', Rule).map((of) => of.properties.State));
    assert.deepEqual(states(running), new Set(['ENABLED']));
    assert.deepEqual(states(paused), new Set(['DISABLED']));
  });

  it('keeps its table, its buckets and its queues', () => {
    const ids = ({ all }: typeof running) =>
      ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::SQS::Queue'].flatMap((type) =>
        all(type, z.unknown()).map(({ id }) => id),
      );
    assert.deepEqual(ids(paused), ids(running));
  });
});
