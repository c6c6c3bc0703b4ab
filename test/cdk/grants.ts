import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { FUNCTION_NAMES } from '../../cdk/function-specs.ts';
import { COMPOSED } from '../aws/needless-grants.ts';
import { Reference, synthesized } from './synthesized.ts';

const list = <T extends z.ZodType>(one: T) =>
  z.union([one.transform((value) => [value]), z.array(one)]) satisfies z.ZodType;

const Join = z
  .object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.union([z.string(), Reference]))]) })
  .transform((value) => value['Fn::Join'][1].join(''));
const Policy = z.object({
  Roles: z.array(Reference),
  PolicyDocument: z.object({
    Statement: z.array(
      z.object({
        Effect: z.string(),
        Action: list(z.string()),
        Resource: list(z.union([z.string(), Join, Reference])),
      }),
    ),
  }),
});

const policiesOf = (aws: Parameters<typeof synthesized>[0] = {}) => synthesized(aws).all('AWS::IAM::Policy', Policy);
const policies = policiesOf();

/** `dispatch` → `['dynamodb:GetItem TableCD117FA1', …]` */
const granted = (functionName: string): string[] => {
  const role = new RegExp(`^${functionName.replace('-', '')}Role`);
  return policies
    .filter(({ properties }) => properties.Roles.some((name) => role.test(name)))
    .flatMap(({ properties }) => properties.PolicyDocument.Statement)
    .flatMap(({ Action, Resource }) => Action.flatMap((action) => Resource.map((resource) => `${action} ${resource}`)));
};

describe('the functions may', () => {
  it('do nothing by a wildcard', () => {
    for (const { id, properties } of [...policies, ...policiesOf({ customerKey: true })]) {
      for (const { Effect, Action, Resource } of properties.PolicyDocument.Statement) {
        assert.equal(Effect, 'Allow');
        for (const action of Action) assert.match(action, /^[a-z0-9]+:[A-Za-z]+$/, `${id} ${action}`);
        for (const resource of Resource)
          assert.match(resource, /^(Content|Failures)[0-9A-F]{8}\/\*$|^[^*]{8,}$/, `${id} ${resource}`);
      }
    }
  });

  it('each write their own log and no other', () => {
    for (const name of FUNCTION_NAMES) {
      const logs = granted(name).filter((grant) => grant.startsWith('logs:'));
      const own = new RegExp(`^logs:(CreateLogStream|PutLogEvents) ${name.replace('-', '')}Log`);
      assert.equal(logs.length, 2, name);
      for (const grant of logs) assert.match(grant, own);
    }
  });

  it('take tasks from lanes only where claims are made, or turns leased', () => {
    const receivers = FUNCTION_NAMES.filter((name) =>
      granted(name).some((grant) => /^sqs:ReceiveMessage Lanes.*(critical|low)/.test(grant)),
    );
    assert.deepEqual(receivers, ['claims', 'tasks', 'api', 'due']);
  });

  it('send to every lane, where they send to lanes, and write that it is in use', () => {
    for (const name of ['ingest', 'claims', 'tasks', 'api', 'dispatch', 'due', 'dead-letters', 'replay']) {
      const lanes = granted(name).filter((grant) => /^sqs:SendMessage Lanes(?!defaultrelay)/.test(grant));
      assert.equal(lanes.length, 3 * 4, name);
      assert.ok(
        granted(name).some((grant) => grant.startsWith('dynamodb:UpdateItem Table')),
        name,
      );
    }
  });

  it('send to NATS only where what follows from a change is carried out, but for chunks', () => {
    const sendersTo = (lanes: RegExp) =>
      FUNCTION_NAMES.filter((name) => granted(name).some((grant) => lanes.test(grant)));
    assert.deepEqual(sendersTo(/^sqs:SendMessage Lanesdefaultrelay(?!low)/), ['dispatch', 'replay']);
    assert.deepEqual(sendersTo(/^sqs:SendMessage Lanesdefaultrelaylow/), ['ingest', 'claims', 'dispatch', 'replay']);
  });

  it('do with a claim all that they do with a message, because a claim may bring messages', () => {
    const ofOthers = (name: string) => granted(name).filter((grant) => !grant.startsWith('logs:'));
    const missing = ofOthers('ingest').filter((grant) => !ofOthers('claims').includes(grant));
    assert.deepEqual(missing, []);
    assert.ok(ofOthers('claims').some((grant) => grant.startsWith('dynamodb:ConditionCheckItem Table')));
  });

  it('grant a function that makes calls of others inside what one of those may, and no more', () => {
    for (const [name, parts] of Object.entries(COMPOSED)) {
      const allowed = new Set(parts.flatMap((part) => granted(part)));
      const own = granted(name).filter((grant) => !grant.startsWith('logs:'));
      assert.deepEqual(
        own.filter((grant) => !allowed.has(grant)),
        [],
        name,
      );
    }
  });

  it('keep cards, with a blob where they are large, wherever one may be made', () => {
    for (const name of ['ingest', 'claims', 'tasks', 'api', 'dispatch', 'due', 'replay']) {
      for (const grant of ['dynamodb:PutItem Table', 's3:PutObject Content', 's3:DeleteObject Content'])
        assert.ok(
          granted(name).some((own) => own.startsWith(grant)),
          `${name}: ${grant}`,
        );
    }
  });

  it('query each index by its name', () => {
    const indexes = (name: string) =>
      granted(name)
        .flatMap((grant) => grant.match(/^dynamodb:Query Table[0-9A-F]{8}\/index\/(\w+)$/)?.[1] ?? [])
        .sort();
    assert.deepEqual(indexes('sweep'), ['byHolder', 'byList', 'due']);
    assert.deepEqual(indexes('claims'), ['byHolder', 'byList']);
    assert.deepEqual(indexes('ingest'), ['byHolder']);
  });

  it('read what was put aside only to replay it, and write it only where changes are dispatched', () => {
    const reach = (action: string) =>
      FUNCTION_NAMES.filter((name) => granted(name).some((grant) => new RegExp(`^s3:${action} Failures`).test(grant)));
    assert.deepEqual(reach('GetObject'), ['replay']);
    assert.deepEqual(reach('DeleteObject'), ['replay']);
    assert.deepEqual(reach('PutObject'), ['dispatch', 'replay']);
  });

  it('list every bucket that they read from, so that what is missing is not taken for forbidden', () => {
    const onBuckets = (action: string) =>
      FUNCTION_NAMES.flatMap((name) =>
        granted(name)
          .flatMap((grant) => grant.match(`^s3:${action} (Content|Failures)`)?.[1] ?? [])
          .map((bucket) => `${name} ${bucket}`),
      );
    const listed = onBuckets('ListBucket').filter((of) => of !== 'dispatch Failures');
    assert.deepEqual(listed, onBuckets('GetObject'));
    assert.deepEqual(listed, [
      'ingest Content',
      'claims Content',
      'tasks Content',
      'api Content',
      'dispatch Content',
      'due Content',
      'replay Content',
      'replay Failures',
    ]);
  });

  it('set an administrator’s key and nothing else, with admin-key', () => {
    assert.deepEqual(
      granted('admin-key')
        .filter((grant) => !grant.startsWith('logs:'))
        .map((grant) => grant.split(' ')[0]),
      ['dynamodb:UpdateItem'],
    );
  });
});
