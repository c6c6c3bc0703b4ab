import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { buildJsonRequest, parseJsonResponse } from '../../local/cloudformation-runner/backends/call-json.ts';
import { eventually } from '../support/eventually.ts';
import { deployed, getAtt, ref, type SmallDeployment, wholeSuite } from './small-template.ts';
import { TELL, type Witness, witnessFor } from './witness.ts';

const REPORTER = (name: string) =>
  `${TELL} export const handler = (event) => tell({ to: '${name}', event }).then(() => {});`;

const logGroupArn = (name: string) => ({
  'Fn::Join': [':', ['arn:aws:logs', ref('AWS::Region'), ref('AWS::AccountId'), 'log-group', name]],
});

const roleOf = (service: string, action: string, resource: unknown) => {
  const trust = { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: service } };
  const grant = { Effect: 'Allow', Action: action, Resource: resource };
  return {
    Type: 'AWS::IAM::Role',
    Properties: {
      AssumeRolePolicyDocument: { Version: '2012-10-17', Statement: [trust] },
      Policies: [{ PolicyName: 'one', PolicyDocument: { Version: '2012-10-17', Statement: [grant] } }],
    },
  };
};

describe('rules and schedules', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;
  let witness: Witness;

  const call = async (service: string, target: string, body: object): Promise<unknown> => {
    const request = buildJsonRequest(here.createAccessKey('sender'), 'us-east-1', service, target, body);
    return parseJsonResponse(target, await here.gateway.handle(request));
  };
  const publish = (...entries: object[]) =>
    call('events', 'AWSEvents.PutEvents', {
      Entries: entries.map((entry) => ({
        EventBusName: 'news',
        Source: 'parley',
        DetailType: 'x',
        Detail: '{}',
        ...entry,
      })),
    });

  before(async () => {
    witness = await witnessFor(owner);
    const env = { WITNESS: witness.address };
    const permission = (id: string, rule: string) => ({
      Type: 'AWS::Lambda::Permission',
      Properties: {
        Action: 'lambda:InvokeFunction',
        FunctionName: getAtt(id),
        Principal: 'events.amazonaws.com',
        SourceArn: getAtt(rule),
      },
    });
    here = await deployed(
      owner,
      {
        listener: { code: REPORTER('listener'), env },
        ticker: { code: REPORTER('ticker'), env },
        planned: { code: REPORTER('planned'), env },
        sender: {
          code: '',
          allow: [
            { Action: 'events:PutEvents', Resource: getAtt('Bus') },
            { Action: ['sqs:ReceiveMessage', 'sqs:DeleteMessage'], Resource: getAtt('Audit') },
          ],
        },
      },
      {
        Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'news' } },
        Archive: {
          Type: 'AWS::Events::Archive',
          Properties: { SourceArn: getAtt('Bus'), RetentionDays: 30, EventPattern: { source: ['parley'] } },
        },
        Audit: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'audit' } },
        AuditPolicy: {
          Type: 'AWS::SQS::QueuePolicy',
          Properties: {
            Queues: [ref('Audit')],
            PolicyDocument: {
              Version: '2012-10-17',
              Statement: [
                {
                  Effect: 'Deny',
                  Principal: { AWS: '*' },
                  Action: 'sqs:*',
                  Resource: getAtt('Audit'),
                  Condition: { Bool: { 'aws:SecureTransport': 'false' } },
                },
                {
                  Effect: 'Allow',
                  Principal: { Service: 'events.amazonaws.com' },
                  Action: 'sqs:SendMessage',
                  Resource: getAtt('Audit'),
                  Condition: { ArnEquals: { 'aws:SourceArn': getAtt('Everything') } },
                },
              ],
            },
          },
        },
        Failures: {
          Type: 'AWS::Events::Rule',
          Properties: {
            EventBusName: ref('Bus'),
            EventPattern: { 'detail-type': [{ prefix: 'task.' }], detail: { attempt: [{ numeric: ['>', 1] }] } },
            Targets: [{ Id: 'listener', Arn: getAtt('listener') }],
          },
        },
        Everything: {
          Type: 'AWS::Events::Rule',
          Properties: {
            EventBusName: ref('Bus'),
            EventPattern: { source: ['parley'] },
            Targets: [{ Id: 'audit', Arn: getAtt('Audit'), InputPath: '$.detail' }],
          },
        },
        Passed: {
          Type: 'AWS::Events::Rule',
          Properties: {
            EventBusName: ref('Bus'),
            EventPattern: { 'detail-type': ['passed'] },
            Targets: [{ Id: 'second', Arn: getAtt('Second'), RoleArn: getAtt('PassingRole') }],
          },
        },
        Second: { Type: 'AWS::Events::EventBus', Properties: { Name: 'second' } },
        PassingRole: roleOf('events.amazonaws.com', 'events:PutEvents', getAtt('Second')),
        Logged: {
          Type: 'AWS::Events::Rule',
          Properties: {
            EventBusName: ref('Second'),
            EventPattern: { source: ['parley'] },
            Targets: [
              {
                Id: 'log',
                Arn: logGroupArn('/aws/events/second'),
                DeadLetterConfig: { Arn: getAtt('Audit') },
              },
            ],
          },
        },
        Elsewhere: {
          Type: 'AWS::Events::Rule',
          Properties: {
            EventBusName: ref('Bus'),
            EventPattern: { source: ['parley'] },
            Targets: [{ Id: 'theirs', Arn: 'arn:aws:lambda:us-east-1:111122223333:function:theirs' }],
          },
        },
        Tick: {
          Type: 'AWS::Events::Rule',
          Properties: {
            ScheduleExpression: 'rate(1 minute)',
            Targets: [{ Id: 'ticker', Arn: getAtt('ticker') }],
          },
        },
        Scheduled: {
          Type: 'AWS::Scheduler::Schedule',
          Properties: {
            ScheduleExpression: 'cron(* * * * ? *)',
            FlexibleTimeWindow: { Mode: 'OFF' },
            Target: { Arn: getAtt('planned'), RoleArn: getAtt('ClockRole'), Input: '{"by":"the clock"}' },
          },
        },
        ClockRole: roleOf('scheduler.amazonaws.com', 'lambda:InvokeFunction', getAtt('planned')),
        listenerPermission: permission('listener', 'Failures'),
        tickerPermission: permission('ticker', 'Tick'),
      },
      { scheduleMinuteMs: 200 },
    );
  });

  const heardBy = (name: string) => witness.heard.filter(({ to }) => to === name).map(({ event }) => event);

  it('an event reaches the function whose rule it matches, and no other', async () => {
    await publish(
      { DetailType: 'task.failed', Detail: '{"attempt":1}' },
      { DetailType: 'agent.online', Detail: '{"attempt":2}' },
      { DetailType: 'task.failed', Detail: '{"attempt":2}', Resources: ['a-task'] },
    );
    await witness.until(() => heardBy('listener').length > 0);
    const [event, ...more] = heardBy('listener');
    assert.deepEqual(more, []);
    assert.deepEqual(
      [event['detail-type'], event.source, event.detail, event.resources, event.region, event.version],
      ['task.failed', 'parley', { attempt: 2 }, ['a-task'], 'us-east-1', '0'],
    );
  });

  it('an event reaches the queue of a rule, as much of it as the rule says', async () => {
    await publish({ Detail: '{"marked":true}' });
    await eventually(async () => {
      const QueueUrl = 'https://sqs.us-east-1.amazonaws.com/000000000000/audit';
      const answer = await call('sqs', 'AmazonSQS.ReceiveMessage', { QueueUrl, MaxNumberOfMessages: 10 });
      assert.match(JSON.stringify(answer), /"Body":"{\\"marked\\":true}"/);
    });
  });

  it('an event reaches another bus by a role, and from its rule a log group; one for another account is lost', async () => {
    await publish({ DetailType: 'passed', Detail: '{"passed":true}' }, { DetailType: 'not.passed' });
    const lines = readFileSync(join(here.dir, 'log-groups/aws/events/second.log'), 'utf8').trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ detail, source }) => [source, detail]),
      [['parley', { passed: true }]],
    );
  });

  it('an entry that is no event is refused, and the others are taken', async () => {
    const answer = await publish({ Detail: 'not JSON' }, { Source: '' }, { EventBusName: 'news' });
    assert.match(JSON.stringify(answer), /"FailedEntryCount":2.*MalformedDetail.*InvalidArgument.*"EventId"/);
  });

  it('a schedule invokes its function each minute', async () => {
    await witness.until(() => heardBy('ticker').length >= 2 && heardBy('planned').length >= 2);
    assert.equal(heardBy('ticker')[0]['detail-type'], 'Scheduled Event');
    assert.deepEqual(heardBy('planned')[0], { by: 'the clock' });
  });
});
