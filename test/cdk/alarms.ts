import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { FUNCTION_NAMES, MANUAL_FUNCTIONS } from '../../cdk/function-specs.ts';
import { Reference, synthesized } from './synthesized.ts';

const Name = z.union([
  z.string(),
  Reference,
  z.object({ 'Fn::GetAtt': z.array(z.string()) }).transform((of) => of['Fn::GetAtt'][0] ?? ''),
]);
const Metric = z.object({
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z.array(z.object({ Name: z.string(), Value: Name })),
});
const Alarm = z.object({
  AlarmName: z.string(),
  AlarmDescription: z.string(),
  AlarmActions: z.tuple([Reference]),
  TreatMissingData: z.string(),
  ComparisonOperator: z.string(),
  Threshold: z.number(),
  EvaluationPeriods: z.number(),
  MetricName: z.string().optional(),
  Dimensions: z.array(z.object({ Name: z.string(), Value: Name })).optional(),
  Metrics: z
    .array(z.object({ Id: z.string(), Expression: z.string().optional(), MetricStat: z.object({ Metric }).optional() }))
    .default([]),
});
type Alarm = z.output<typeof Alarm>;

const { all } = synthesized({ subscriptions: { finished: { queue: 'finished' } } });
const alarms = all('AWS::CloudWatch::Alarm', Alarm).map(({ properties }) => properties);
const headingOf = ({ AlarmDescription }: Alarm) =>
  AlarmDescription.match(/docs\/operations\/runbook\.md#([a-z0-9-]+)$/)?.[1];
const withHeading = (heading: string) => alarms.filter((alarm) => headingOf(alarm) === heading);

const watchedBy = ({ MetricName, Dimensions }: z.output<typeof Metric>): string =>
  `${MetricName} ${Dimensions.map(({ Value }) => Value).join()}`;

/** `['Errors ingestFunction…', …]` */
const watches = (found: Alarm[]): string[] =>
  found.flatMap(({ MetricName, Dimensions, Metrics }) => [
    ...(MetricName ? [`${MetricName} ${Dimensions?.map(({ Value }) => Value).join()}`] : []),
    ...Metrics.flatMap(({ MetricStat }) => (MetricStat ? [watchedBy(MetricStat.Metric)] : [])),
  ]);

describe('the alarms', () => {
  it('each have a heading in the runbook, and each heading its alarm', () => {
    const runbook = readFileSync(join(import.meta.dirname, '../../docs/operations/runbook.md'), 'utf8');
    const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    );
    assert.deepEqual([...new Set(alarms.map(headingOf))].sort(), headings.sort());
  });

  it('reach the topic, and the address where one is given', () => {
    const [topic] = all('AWS::SNS::Topic', z.unknown());
    for (const { AlarmName, AlarmActions } of alarms) assert.equal(AlarmActions[0], topic?.id, AlarmName);
    assert.deepEqual(all('AWS::SNS::Subscription', z.unknown()), []);
    const Subscription = z.object({ Protocol: z.string(), Endpoint: z.string() });
    const [subscription] = synthesized({ alarms: { email: 'ops@example.com' } }).all(
      'AWS::SNS::Subscription',
      Subscription,
    );
    assert.deepEqual(subscription?.properties, { Protocol: 'email', Endpoint: 'ops@example.com' });
  });

  it('may be published by CloudWatch, from this account alone', () => {
    const Statement = z.object({
      Effect: z.string(),
      Action: z.unknown(),
      Principal: z.unknown(),
      Condition: z.unknown(),
    });
    const TopicPolicy = z.object({
      Topics: z.array(Reference),
      PolicyDocument: z.object({ Statement: z.array(Statement) }),
    });
    const [policy, ...others] = all('AWS::SNS::TopicPolicy', TopicPolicy);
    assert.deepEqual(others, [], 'a second policy would take the place of the first');
    const [topic] = all('AWS::SNS::Topic', z.unknown());
    assert.deepEqual(policy?.properties.Topics, [topic?.id]);
    const allowed = policy.properties.PolicyDocument.Statement.filter(({ Effect }) => Effect === 'Allow');
    assert.deepEqual(allowed, [
      {
        Effect: 'Allow',
        Action: 'sns:Publish',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      },
    ]);
  });

  it('watch every dead-letter queue', () => {
    const Queue = z.object({ RedrivePolicy: z.object({ deadLetterTargetArn: Reference }).optional() });
    const dead = new Set(
      all('AWS::SQS::Queue', Queue).flatMap(({ properties }) => properties.RedrivePolicy?.deadLetterTargetArn ?? []),
    );
    const headings = ['dead-letters', 'timer-dead-letters', 'relay-dead-letters'];
    const watched = watches(headings.flatMap(withHeading)).map((of) => of.split(' ')[1]);
    assert.deepEqual(watched.sort(), [...dead].sort());
  });

  it('watch every lane but those of low priority, which may wait', () => {
    const watched = watches(withHeading('oldest-message'));
    assert.equal(watched.length, 3 * 3);
    for (const metric of watched)
      assert.match(metric, /^ApproximateAgeOfOldestMessage Lanes\w+(critical|high|normal)[0-9A-F]{8}$/);
  });

  it('watch every lane of a relay, which reads all of them at once', () => {
    const watched = watches(withHeading('relay-not-reading')).sort();
    assert.equal(watched.length, 4);
    for (const [at, priority] of ['critical', 'high', 'low', 'normal'].entries())
      assert.match(watched[at] ?? '', new RegExp(`^ApproximateAgeOfOldestMessage Lanesdefaultrelay${priority}`));
  });

  it('watch every function for errors and throttling but those that are called by hand', () => {
    const expected = FUNCTION_NAMES.filter((name) => !MANUAL_FUNCTIONS.includes(name)).map((name) =>
      name.replace('-', ''),
    );
    for (const [heading, metric] of [
      ['function-errors', 'Errors'],
      ['function-throttles', 'Throttles'],
    ] as const) {
      const watched = watches(withHeading(heading)).map((of) => of.match(`^${metric} (\\w+)Function`)?.[1]);
      assert.deepEqual(watched.sort(), expected.sort(), heading);
    }
  });

  it('ring when nothing says that the sweep runs', () => {
    const [alarm, ...more] = withHeading('sweep-not-running');
    assert.deepEqual(more, []);
    assert.equal(alarm?.TreatMissingData, 'breaching');
    assert.equal(alarm.ComparisonOperator, 'LessThanThreshold');
    assert.equal(alarm.Threshold, 1);
    const [watched, ...others] = watches([alarm]);
    assert.match(watched ?? '', /^Invocations sweepFunction/);
    assert.deepEqual(others, [], 'what else runs by the clock says nothing of the sweep');
  });

  it('watch how late the stream is, and what it gave up', () => {
    assert.match(watches(withHeading('stream-age'))[0] ?? '', /^IteratorAge dispatchFunction/);
    const givenUp = watches(withHeading('stream-failures'));
    assert.deepEqual(
      givenUp.map((metric) => metric.split(' ')[0]),
      [...[1, 2].flatMap(() => ['OnFailureDestinationDeliveredEventCount', 'DroppedEventCount']), 'ChangesPutAside'],
    );
    for (const metric of givenUp.slice(0, 4)) assert.match(metric, / dispatch(Stream|Awaited)/);
  });

  it('ring when messages come in and the stream brings nothing, for a quarter of an hour', () => {
    const [alarm, ...more] = withHeading('stream-not-read');
    assert.ok(alarm);
    assert.deepEqual(more, []);
    const ids = alarm.Metrics.map(({ Id, MetricStat }) => [Id, MetricStat && watchedBy(MetricStat.Metric)]);
    assert.match(String(ids.find(([id]) => id === 'ingest')?.[1]), /^Invocations ingestFunction/);
    assert.match(String(ids.find(([id]) => id === 'dispatch')?.[1]), /^Invocations dispatchFunction/);
    const expression = alarm.Metrics.find((metric) => metric.Expression)?.Expression;
    assert.equal(expression, 'IF(FILL(ingest,0) > 0 AND FILL(dispatch,0) < 1, 1, 0)');
    assert.deepEqual([alarm.Threshold, alarm.EvaluationPeriods], [1, 3]);
  });

  it('watch every operation of the table for throttling and failures', () => {
    const watched = watches(withHeading('table-faults'));
    const operations = [
      'GetItem',
      'BatchGetItem',
      'Query',
      'PutItem',
      'UpdateItem',
      'DeleteItem',
      'TransactWriteItems',
    ];
    const [table] = all('AWS::DynamoDB::Table', z.unknown());
    const expected = ['ThrottledRequests', 'SystemErrors'].flatMap((name) =>
      operations.map((operation) => `${name} ${operation},${table?.id}`),
    );
    assert.deepEqual(watched.sort(), expected.sort());
  });

  it('watch for events that the bus did not take, by the dimensions that functions write', () => {
    const watched = withHeading('events-not-published').flatMap(({ Metrics }) =>
      Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? []),
    );
    assert.deepEqual(
      watched,
      ['dispatch', 'replay'].map((service) => ({
        Namespace: 'Parley',
        MetricName: 'EventsNotPublished',
        Dimensions: [
          { Name: 'service', Value: service },
          { Name: 'stage', Value: 'test' },
        ],
      })),
    );
  });

  it('ring at the thresholds of the message routing protocol, by its own names', () => {
    const bounds = ['write-latency', 'read-latency', 'inbox-depth'].map((heading) => {
      const [alarm, ...more] = withHeading(heading);
      assert.deepEqual(more, []);
      return [...watches(alarm ? [alarm] : []), alarm?.ComparisonOperator, alarm?.Threshold];
    });
    assert.deepEqual(bounds, [
      ['message_write_latency_ms messages,test', 'GreaterThanThreshold', 100],
      ['message_read_latency_ms messages,test', 'GreaterThanThreshold', 200],
      ['inbox_depth messages,test', 'GreaterThanThreshold', 80],
    ]);
  });

  it('find what the message routing protocol measures, whichever function wrote it', () => {
    const told =
      "import('./functions/runtime/metrics.lazy.ts').then(({ publishMetrics }) => publishMetrics([{ name: 'inbox_depth', unit: 'count', value: 81 }]))";
    for (const name of ['ingest', 'claims', 'due']) {
      const env = { ...process.env, POWERTOOLS_SERVICE_NAME: name, STAGE: 'test' };
      const { service, stage, inbox_depth } = JSON.parse(
        execFileSync(process.execPath, ['-e', told], { env }).toString(),
      );
      assert.deepEqual([`inbox_depth ${service},${stage}`, inbox_depth], [...watches(withHeading('inbox-depth')), 81]);
    }
  });

  it('are not made where they are switched off', () => {
    const quiet = synthesized({ alarms: { on: false } });
    assert.deepEqual(quiet.all('AWS::CloudWatch::Alarm', z.unknown()), []);
    assert.deepEqual(quiet.all('AWS::SNS::Topic', z.unknown()), []);
  });
});

describe('the dashboard', () => {
  const found = all('AWS::CloudWatch::Dashboard', z.object({ DashboardBody: z.unknown() }));

  it('is one', () => assert.equal(found.length, 1));

  it('shows what functions count, and every metric of the new alarms', () => {
    const body = JSON.stringify(found[0]?.properties.DashboardBody);
    for (const name of ['submitted', 'completed', 'failed', 'expired'].map((status) => `task_${status}_count`)) {
      assert.ok(body.includes(name), name);
    }
    for (const name of [
      'eviction_count',
      'ChangesDispatched',
      'EventsNotPublished',
      'DueSwept',
      'ThrottledRequests',
      'SystemErrors',
    ]) {
      assert.ok(body.includes(name), name);
    }
    assert.ok(body.includes('FILL(dispatch,0) < 1'));
  });

  it('shows every queue, however many there are, and the dead letters of relays', () => {
    const body = JSON.stringify(found[0]?.properties.DashboardBody);
    for (const metric of ['ApproximateNumberOfMessagesVisible', 'ApproximateAgeOfOldestMessage'])
      assert.ok(new RegExp(`SEARCH.{1,40}MetricName=.{1,4}${metric}.{1,12}parley-test`).test(body), metric);
    assert.ok(/"Lanesdefaultrelaydead[0-9A-F]{8}"/.test(body));
  });
});
