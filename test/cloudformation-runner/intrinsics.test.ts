import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildResourceGraph } from '../../local/cloudformation-runner/graph.ts';
import { getAtt, ref } from './small-template.ts';

const sub = (name: string): string => `\${${name}}`;

const site = { region: 'us-east-1', account: '000000000000', stackName: 'Small', getAddress: () => 'http://here' };

const resolvedValue = (Value: unknown, rest: object = {}): unknown =>
  buildResourceGraph(
    {
      Resources: {
        Lane: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { 'Fn::Sub': `lane-${sub('AWS::Region')}` } } },
        Unnamed: { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true } },
        Content: { Type: 'AWS::S3::Bucket' },
      },
      Parameters: { Colour: { Type: 'String', Default: 'red' } },
      Conditions: {
        IsHere: { 'Fn::Equals': [ref('AWS::Region'), 'us-east-1'] },
        IsNotHere: { 'Fn::Not': [{ Condition: 'IsHere' }] },
        IsRedHere: { 'Fn::And': [{ Condition: 'IsHere' }, { 'Fn::Equals': [ref('Colour'), 'red'] }] },
        IsAny: { 'Fn::Or': [{ Condition: 'IsNotHere' }, { Condition: 'IsRedHere' }] },
      },
      Mappings: { Sizes: { 'us-east-1': { small: '1' } } },
      Outputs: { It: { Value } },
      ...rest,
    },
    site,
  ).resolveOutputs().It;

describe('an intrinsic function gives', () => {
  const URL = 'https://sqs.us-east-1.amazonaws.com/000000000000';
  const cases: [what: string, value: unknown, expected: unknown][] = [
    ['the address of a queue', ref('Lane'), `${URL}/lane-us-east-1`],
    ['a made name that fits its kind', ref('Unnamed'), `${URL}/Small-Unnamed.fifo`],
    ['the name of a bucket in lower case', ref('Content'), 'small-content'],
    ['an ARN', getAtt('Lane'), 'arn:aws:sqs:us-east-1:000000000000:lane-us-east-1'],
    ['an attribute by one text', { 'Fn::GetAtt': 'Content.Arn' }, 'arn:aws:s3:::small-content'],
    ['a parameter by its default', ref('Colour'), 'red'],
    ['joined values', { 'Fn::Join': ['-', [ref('Colour'), 7]] }, 'red-7'],
    [
      'what is left of a split',
      { 'Fn::Select': [0, { 'Fn::Split': ['-us', ref('Lane')] }] },
      'https://sqs.us-east-1.amazonaws.com/000000000000/lane'.split('-us')[0],
    ],
    [
      'a text with its own values',
      { 'Fn::Sub': [sub('!A') + sub('A') + sub('Lane.QueueName'), { A: ref('Colour') }] },
      `${sub('A')}redlane-us-east-1`,
    ],
    ['a choice', { 'Fn::If': ['IsRedHere', 'yes', 'no'] }, 'yes'],
    ['the other choice', { 'Fn::If': ['IsNotHere', 'yes', 'no'] }, 'no'],
    ['a choice by any of several', { 'Fn::If': ['IsAny', 'yes', 'no'] }, 'yes'],
    ['a value of a mapping', { 'Fn::FindInMap': ['Sizes', ref('AWS::Region'), 'small'] }, '1'],
    ['nothing in a list and in an object', [{ a: ref('AWS::NoValue'), b: 1 }, ref('AWS::NoValue')], [{ b: 1 }]],
  ];
  for (const [what, value, expected] of cases) it(what, () => assert.deepEqual(resolvedValue(value), expected));
});
