import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Reference, synthesized } from './synthesized.ts';

const LAMBDA = 'arn:aws:lambda:eu-central-1:111122223333:function:mine';
const BUS = 'arn:aws:events:eu-central-1:111122223333:event-bus/theirs';

const subscriptions = {
  finished: { queue: 'finished' },
  briefings: { types: ['task.*'], topics: ['security.briefing', 'intel.*'], logGroup: 'briefings' },
  called: { types: ['*'], function: LAMBDA },
  passed: { project: 'lab', bus: BUS },
};
const { all } = synthesized({ subscriptions });

const Rule = z.object({
  Name: z.string(),
  EventBusName: Reference,
  EventPattern: z.record(z.string(), z.unknown()),
  Targets: z.tuple([
    z.object({ Arn: z.unknown(), RoleArn: z.unknown().optional(), DeadLetterConfig: z.object({ Arn: Reference }) }),
  ]),
});
const ruleOf = (name: string) =>
  all('AWS::Events::Rule', z.looseObject({ Name: z.string().optional() })).flatMap(({ id, properties }) =>
    properties.Name === `parley-test-${name}` ? [{ id, ...Rule.parse(properties) }] : [],
  )[0];

describe('subscriptions', () => {
  it('are rules of the bus of their project, by type and by topic', () => {
    const ends = ['task.completed', 'task.failed', 'task.expired', 'task.cancelled', 'batch.ended', 'graph.ended'];
    assert.deepEqual(ruleOf('finished')?.EventPattern, {
      source: ['parley'],
      'detail-type': [...ends, 'evt.agent.task'],
    });
    assert.deepEqual(ruleOf('briefings')?.EventPattern, {
      source: ['parley'],
      'detail-type': [{ prefix: 'task.' }],
      detail: { capability: ['security.briefing', { prefix: 'intel.' }] },
    });
    assert.deepEqual(ruleOf('called')?.EventPattern, { source: ['parley'] });
    assert.notEqual(ruleOf('passed')?.EventBusName, ruleOf('called')?.EventBusName);
  });

  it('reach their targets: a queue and a log group that the stack makes, a function, and another bus by a role', () => {
    const queues = new Map(
      all('AWS::SQS::Queue', z.object({ QueueName: z.string() })).map(({ id, properties }) => [
        id,
        properties.QueueName,
      ]),
    );
    const queueOf = (value: unknown): string | undefined => queues.get(Reference.parse(value));
    assert.equal(queueOf(ruleOf('finished')?.Targets[0].Arn), 'parley-test-to-finished');
    assert.match(JSON.stringify(ruleOf('briefings')?.Targets[0].Arn), /:log-group:/);
    const groups = all('AWS::Logs::LogGroup', z.object({ LogGroupName: z.string() }));
    assert.ok(groups.some(({ properties }) => properties.LogGroupName === '/aws/events/parley-test/briefings'));
    assert.equal(ruleOf('called')?.Targets[0].Arn, LAMBDA);
    const permissions = all(
      'AWS::Lambda::Permission',
      z.looseObject({ FunctionName: z.unknown(), SourceArn: z.unknown() }),
    );
    const allowed = permissions.find(({ properties }) => properties.FunctionName === LAMBDA);
    assert.equal(Reference.parse(allowed?.properties.SourceArn), ruleOf('called')?.id);
    assert.equal(ruleOf('passed')?.Targets[0].Arn, BUS);
    assert.ok(ruleOf('passed')?.Targets[0].RoleArn);
  });

  it('each have a dead-letter queue that its rule alone may send to, with an alarm', () => {
    const Policy = z.object({
      Queues: z.array(Reference),
      PolicyDocument: z.object({ Statement: z.array(z.looseObject({ Effect: z.string(), Condition: z.unknown() })) }),
    });
    const policies = all('AWS::SQS::QueuePolicy', Policy);
    for (const name of Object.keys(subscriptions)) {
      const rule = ruleOf(name);
      const dead = rule?.Targets[0].DeadLetterConfig.Arn ?? '';
      const allow = policies
        .filter(({ properties }) => properties.Queues.includes(dead))
        .flatMap(({ properties }) => properties.PolicyDocument.Statement)
        .filter(({ Effect }) => Effect === 'Allow');
      assert.equal(allow.length, 1, name);
      assert.match(JSON.stringify(allow[0]?.Condition), new RegExp(`"${rule?.id}"`));
    }
    const alarms = all('AWS::CloudWatch::Alarm', z.object({ AlarmName: z.string() }));
    assert.ok(alarms.some(({ properties }) => properties.AlarmName.startsWith('parley-test-lost-events')));
  });
});
