import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { buildDeployment } from '../../local/cloudformation-runner/deployment.ts';
import { TemplateError } from '../../local/cloudformation-runner/template-error.ts';
import { getAtt, ref, smallTemplate, TABLE, tempFolder } from './small-template.ts';

const site = { region: 'us-east-1', account: '000000000000', stackName: 'Small', getAddress: () => 'http://here' };
const HANDLER = { code: 'export const handler = async () => {};' };

const queue = (Properties: object = {}) => ({ Type: 'AWS::SQS::Queue', Properties });

type Resources = Parameters<typeof smallTemplate>[2];

const mistakesIn = async (
  t: TestContext,
  others: Resources,
  { functions = {}, rest = {} }: { functions?: Parameters<typeof smallTemplate>[1]; rest?: object } = {},
): Promise<readonly string[]> => {
  const assets = tempFolder(t);
  const template = { ...(await smallTemplate(assets, functions, others)), ...rest };
  try {
    buildDeployment(template, site, assets);
    return [];
  } catch (error) {
    assert.ok(error instanceof TemplateError, String(error));
    return error.mistakes;
  }
};

describe('what the local runner does not know is refused by name', () => {
  const refusals: [what: string, resources: Resources, says: RegExp, rest?: object][] = [
    [
      'a resource type',
      { Machine: { Type: 'AWS::StepFunctions::StateMachine' } },
      /^Machine: AWS::StepFunctions::StateMachine is not known to the local runner$/,
    ],
    [
      'a property of a known type',
      { Lane: queue({ Colour: 'red' }) },
      /^Lane: the property Colour of AWS::SQS::Queue is not known to the local runner$/,
    ],
    [
      'a property inside of another',
      { Lane: queue({ RedrivePolicy: { deadLetterTargetArn: 'arn', maxReceiveCount: 1, colour: 1 } }) },
      /^Lane: the property RedrivePolicy.colour of AWS::SQS::Queue is not known/,
    ],
    [
      'a property of a type that is run as nothing',
      { Alarm: { Type: 'AWS::CloudWatch::Alarm', Properties: { Loudness: 11 } } },
      /^Alarm: the property Loudness of AWS::CloudWatch::Alarm is not known/,
    ],
    ['an intrinsic', { Lane: queue({ QueueName: { 'Fn::Cidr': [] } }) }, /^Lane: QueueName: Fn::Cidr is not known/],
    [
      'an attribute',
      { Lane: queue(), Other: queue({ KmsMasterKeyId: getAtt('Lane', 'Colour') }) },
      /^Other: KmsMasterKeyId: the attribute Colour of AWS::SQS::Queue is not known/,
    ],
    [
      'a pseudo parameter',
      { Lane: queue({ QueueName: ref('AWS::NotificationARNs') }) },
      /^Lane: QueueName: the pseudo parameter AWS::NotificationARNs is not known/,
    ],
    [
      'another stack',
      { Lane: queue({ QueueName: { 'Fn::ImportValue': 'x' } }) },
      /^Lane: QueueName: Fn::ImportValue needs another stack/,
    ],
    [
      'a condition function',
      { Lane: { ...queue({ QueueName: { 'Fn::If': ['IsBig', 'a', 'b'] } }) } },
      /^Lane: QueueName: Fn::Contains is not known/,
      { Conditions: { IsBig: { 'Fn::Contains': [[], 'x'] } } },
    ],
    [
      'an operator of an event pattern',
      {
        Rule: {
          Type: 'AWS::Events::Rule',
          Properties: { EventPattern: { detail: { size: [{ larger: 3 }] } } },
        },
      },
      /^Rule: the pattern operator larger is not known/,
    ],
    [
      'a schedule',
      { Rule: { Type: 'AWS::Events::Rule', Properties: { ScheduleExpression: 'cron(0 8 L * ? *)' } } },
      /^Rule: "L" in the schedule cron\(0 8 L \* \? \*\) is not known/,
    ],
  ];
  for (const [what, resources, says, rest] of refusals) {
    it(what, async (t) => {
      const mistakes = await mistakesIn(t, resources, { rest });
      assert.equal(mistakes.length, 1, mistakes.join('\n'));
      assert.match(mistakes[0] ?? '', says);
    });
  }

  it('all of it at once, also within one resource', async (t) => {
    const mistakes = await mistakesIn(t, {
      Machine: { Type: 'AWS::StepFunctions::StateMachine' },
      Lane: queue({ Colour: 'red', QueueName: { 'Fn::Cidr': [] } }),
    });
    assert.equal(mistakes.length, 3, mistakes.join('\n'));
  });

  it('a reference to what is not there', async (t) => {
    const mistakes = await mistakesIn(t, { Lane: queue({ QueueName: ref('Nobody') }) });
    assert.deepEqual(mistakes, ['Lane: QueueName: there is no resource Nobody']);
  });

  it('but not a resource whose condition does not hold', async (t) => {
    const rest = { Conditions: { Never: { 'Fn::Equals': [ref('AWS::Region'), 'mars-1'] } } };
    assert.deepEqual(await mistakesIn(t, { Machine: { Type: 'AWS::X::Y', Condition: 'Never' } }, { rest }), []);
  });
});

describe('a policy is refused if it says what the runner cannot check', () => {
  const withStatement = (statement: object) => ({
    reader: { ...HANDLER, allow: [{ Action: 'sqs:SendMessage', Resource: '*', ...statement }] },
  });
  const refusals: [what: string, statement: object, says: RegExp][] = [
    [
      'a condition operator',
      { Condition: { DateLessThan: { 'aws:SecureTransport': 'x' } } },
      /DateLessThan is not known/,
    ],
    [
      'a condition key',
      { Condition: { StringEquals: { 'dynamodb:LeadingKeys': 'x' } } },
      /dynamodb:LeadingKeys is not known/,
    ],
    ['a wildcard in the middle', { Resource: 'arn:aws:sqs:*:000000000000:lane' }, /a wildcard that is not at the end/],
    ['NotAction', { NotAction: 'sqs:*' }, /NotAction/],
  ];
  for (const [what, statement, says] of refusals) {
    it(what, async (t) => {
      const mistakes = await mistakesIn(t, {}, { functions: withStatement(statement) });
      assert.match(mistakes.join('\n'), says);
      assert.match(mistakes.join('\n'), /^readerPolicy: /);
    });
  }

  it('a managed policy that nobody knows', async (t) => {
    const mistakes = await mistakesIn(t, {
      Role: {
        Type: 'AWS::IAM::Role',
        Properties: {
          AssumeRolePolicyDocument: { Version: '2012-10-17', Statement: [] },
          ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'],
        },
      },
    });
    assert.match(mistakes.join(), /AdministratorAccess is not known/);
  });
});

describe('what AWS would refuse at deployment is refused at start', () => {
  const Type = 'AWS::Lambda::EventSourceMapping';
  const mapping = {
    queue: { Type, Properties: { FunctionName: ref('reader'), EventSourceArn: getAtt('Lane') } },
    stream: {
      Type,
      Properties: {
        FunctionName: ref('reader'),
        EventSourceArn: getAtt('Table', 'StreamArn'),
        StartingPosition: 'TRIM_HORIZON',
        DestinationConfig: { OnFailure: { Destination: getAtt('Failures') } },
      },
    },
  };

  it('a queue mapping whose role may not read the queue', async (t) => {
    const allow = [{ Action: ['sqs:ReceiveMessage', 'sqs:GetQueueAttributes'], Resource: getAtt('Lane') }];
    const mistakes = await mistakesIn(
      t,
      { Lane: queue(), Mapping: mapping.queue },
      { functions: { reader: { ...HANDLER, allow } } },
    );
    assert.deepEqual(mistakes, [
      'Mapping: the role of reader lacks sqs:DeleteMessage on arn:aws:sqs:us-east-1:000000000000:Small-Lane',
    ]);
  });

  it('a stream mapping whose role may not read the stream nor write what it gives up', async (t) => {
    const mistakes = await mistakesIn(
      t,
      { ...TABLE, Failures: { Type: 'AWS::S3::Bucket' }, Mapping: mapping.stream },
      { functions: { reader: HANDLER } },
    );
    for (const action of ['dynamodb:GetRecords', 'dynamodb:DescribeStream', 's3:PutObject', 's3:ListBucket']) {
      assert.ok(
        mistakes.some((mistake) => mistake.includes(`lacks ${action} on `)),
        `${action} is not in ${mistakes}`,
      );
    }
  });

  it('a mapping from a queue that shows its messages again before the function must end', async (t) => {
    const actions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
    const reader = {
      ...HANDLER,
      allow: [{ Action: actions, Resource: getAtt('Lane') }],
      properties: { Timeout: 60 },
    };
    const mistakes = await mistakesIn(t, { Lane: queue(), Mapping: mapping.queue }, { functions: { reader } });
    assert.match(mistakes.join(), /^Mapping: the visibility of Small-Lane is below the function's timeout$/);
  });

  it('a filter with an operator that there is not', async (t) => {
    const Properties = {
      ...mapping.queue.Properties,
      FilterCriteria: { Filters: [{ Pattern: '{"body":{"a":[{"loud":1}]}}' }] },
    };
    const mistakes = await mistakesIn(
      t,
      { Lane: queue(), Mapping: { ...mapping.queue, Properties } },
      { functions: { reader: HANDLER } },
    );
    assert.ok(
      mistakes.includes('Mapping: the pattern operator loud is not known to the local runner'),
      mistakes.join(),
    );
  });

  it('a route, a rule and a schedule that may not invoke their function', async (t) => {
    const mistakes = await mistakesIn(
      t,
      {
        Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'api', ProtocolType: 'HTTP' } },
        Stage: {
          Type: 'AWS::ApiGatewayV2::Stage',
          Properties: { ApiId: ref('Api'), StageName: '$default', AutoDeploy: true },
        },
        Integration: {
          Type: 'AWS::ApiGatewayV2::Integration',
          Properties: {
            ApiId: ref('Api'),
            IntegrationType: 'AWS_PROXY',
            IntegrationUri: getAtt('reader'),
            PayloadFormatVersion: '2.0',
          },
        },
        Route: {
          Type: 'AWS::ApiGatewayV2::Route',
          Properties: {
            ApiId: ref('Api'),
            RouteKey: 'GET /x',
            Target: { 'Fn::Join': ['', ['integrations/', ref('Integration')]] },
          },
        },
        Rule: {
          Type: 'AWS::Events::Rule',
          Properties: { ScheduleExpression: 'rate(1 minute)', Targets: [{ Id: 'a', Arn: getAtt('reader') }] },
        },
        Schedule: {
          Type: 'AWS::Scheduler::Schedule',
          Properties: {
            ScheduleExpression: 'rate(1 minute)',
            FlexibleTimeWindow: { Mode: 'OFF' },
            Target: { Arn: getAtt('reader'), RoleArn: getAtt('readerRole') },
          },
        },
      },
      { functions: { reader: HANDLER } },
    );
    assert.deepEqual(
      mistakes.map((mistake) => mistake.split(':')[0]).sort(),
      ['Route', 'Rule', 'Schedule'],
      mistakes.join('\n'),
    );
  });

  it('a function without a bundle', async (t) => {
    const template = await smallTemplate(tempFolder(t), { reader: HANDLER });
    assert.throws(() => buildDeployment(template, site, tempFolder(t)), /^TemplateError|reader: there is no bundle/);
  });
});
