import { Aws } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import { FUNCTIONS } from '../function-specs.ts';
import {
  buildFailedRecordMetrics,
  buildIteratorAgeMetric,
  buildOldestDeadLetterMetrics,
  buildOldestMessageMetrics,
  buildOldestRelayMetrics,
  buildRelayDeadLetterMetrics,
  buildStreamNotReadMetric,
  buildTableFaultMetrics,
  combineMetrics,
  type MonitoredResources,
  SCHEDULED_FUNCTIONS,
} from './aws-metrics.ts';
import { METRIC_PERIOD } from './metric-period.ts';
import {
  buildChangesPutAsideMetric,
  buildInboxDepthMetric,
  buildReadLatencyMetric,
  buildUnpublishedEventMetrics,
  buildWriteLatencyMetric,
} from './parley-metrics.ts';

interface AlarmRule {
  runbookAnchor: string;
  description: string;
  metrics: IMetric[];
  minimum?: number;
  exclusiveMaximum?: number;
  lowerBound?: number;
  periods?: number;
  missing?: TreatMissingData;
}

/** A failed batch stays hidden for six function timeouts; this is longer. */
const DEAD_LETTER_AGE_S = 15 * 60;
/** A relay receives within a second and restarts within a minute. */
const RELAY_AGE_S = 5 * 60;
/** Normally a record takes a second. The stream keeps it for 24 h, which leaves almost a day to act. */
const STREAM_AGE_MS = 5 * 60 * 1000;
/** From the Message Routing protocol: twice its latency targets, and 80 % of an inbox. */
const SLOW_WRITE_MS = 100;
const SLOW_READ_MS = 200;
const INBOX_ALMOST_FULL = 80;
const SLOW_SWEEP_MS = 40_000;
const MAX_SERVER_ERRORS = 5;
/** The SDK retries each fault, so a few have no consequence. */
const MAX_TABLE_FAULTS = 10;

/** Of what the account runs at the same time, should that be less than the threshold. */
const NEAR_THE_LIMIT = 0.8;

const buildAlarmRules = (watched: MonitoredResources, { alarms, concurrency, stage }: AwsConfig): AlarmRule[] => {
  const { functions, delayQueue, api, refusedCalls } = watched;
  const buildFunctionMetrics = (metric: 'Errors' | 'Throttles') =>
    SCHEDULED_FUNCTIONS.map((name) =>
      functions[name].lambda.metric(metric, { period: METRIC_PERIOD, statistic: 'Sum' }),
    );
  return [
    {
      runbookAnchor: 'dead-letters',
      description:
        'Messages are in the dead-letter queue of a project, and the function that requeues their tasks does not.',
      metrics: combineMetrics('MAX', 'oldest dead letter (s)', buildOldestDeadLetterMetrics(watched)),
      minimum: DEAD_LETTER_AGE_S,
    },
    {
      runbookAnchor: 'relay-dead-letters',
      description: 'Messages for agents on NATS are in the dead-letter queue of a relay: it could not publish them.',
      metrics: combineMetrics('SUM', 'dead letters of relays', buildRelayDeadLetterMetrics(watched)),
      minimum: 1,
    },
    {
      runbookAnchor: 'timer-dead-letters',
      description: 'A timer failed ten times.',
      metrics: [
        delayQueue.deadLetters.metricApproximateNumberOfMessagesVisible({
          period: METRIC_PERIOD,
          statistic: 'Maximum',
        }),
      ],
      minimum: 1,
    },
    {
      runbookAnchor: 'stream-age',
      description: 'Effects of changes are late: dispatch does not keep up with the stream, or a record blocks it.',
      metrics: [buildIteratorAgeMetric(watched)],
      minimum: STREAM_AGE_MS,
    },
    {
      runbookAnchor: 'stream-not-read',
      description: 'Messages come in and have no effects: the stream is not read at all.',
      metrics: [buildStreamNotReadMetric(watched)],
      minimum: 1,
      periods: 3,
    },
    {
      runbookAnchor: 'stream-failures',
      description: 'Changes were put aside. They are in the failure bucket until they are replayed.',
      metrics: combineMetrics('SUM', 'records put aside', [
        ...buildFailedRecordMetrics(watched),
        buildChangesPutAsideMetric(stage),
      ]),
      minimum: 1,
    },
    {
      runbookAnchor: 'events-not-published',
      description:
        'The bus did not accept events. Tasks are not affected, but rules on the bus have missed these events.',
      metrics: combineMetrics('SUM', 'events not published', buildUnpublishedEventMetrics(stage)),
      minimum: 1,
    },
    {
      runbookAnchor: 'lost-events',
      description: 'A subscription could not deliver events for a day. They are in its dead-letter queue.',
      metrics: combineMetrics(
        'SUM',
        'lost events',
        watched.lostEvents.map((queue) =>
          queue.metricApproximateNumberOfMessagesVisible({ period: METRIC_PERIOD, statistic: 'Maximum' }),
        ),
      ),
      minimum: 1,
    },
    {
      runbookAnchor: 'admin-key-set',
      description: 'Somebody called the function that sets the key of an administrator.',
      metrics: [functions['admin-key'].lambda.metricInvocations({ period: METRIC_PERIOD, statistic: 'Sum' })],
      minimum: 1,
    },
    {
      runbookAnchor: 'dispatch-slow',
      description: 'Runs of dispatch take more than half of the time that Lambda gives them.',
      metrics: [functions.dispatch.lambda.metricDuration({ period: METRIC_PERIOD, statistic: 'Maximum' })],
      minimum: (FUNCTIONS.dispatch.timeoutS * 1000) / 2,
      periods: 2,
    },
    {
      runbookAnchor: 'sweep-slow',
      description: 'Runs of sweep take most of the minute until the next one: timers are late.',
      metrics: [functions.sweep.lambda.metricDuration({ period: METRIC_PERIOD, statistic: 'Maximum' })],
      minimum: SLOW_SWEEP_MS,
      periods: 2,
    },
    {
      runbookAnchor: 'concurrency',
      description: 'The functions of this account and region come near the number that may run at the same time.',
      metrics: [
        new Metric({
          namespace: 'AWS/Lambda',
          metricName: 'ClaimedAccountConcurrency',
          period: METRIC_PERIOD,
          statistic: 'Maximum',
        }),
      ],
      minimum: Math.min(alarms.concurrency, Math.floor(concurrency * NEAR_THE_LIMIT)),
    },
    {
      runbookAnchor: 'table-faults',
      description: 'DynamoDB throttles the table, or fails.',
      metrics: combineMetrics('SUM', 'refused and failed calls', buildTableFaultMetrics(watched)),
      minimum: MAX_TABLE_FAULTS,
    },
    {
      runbookAnchor: 'function-errors',
      description: 'A function ended with an error that it did not handle, or ran out of time.',
      metrics: combineMetrics('SUM', 'errors', buildFunctionMetrics('Errors')),
      minimum: 1,
    },
    {
      runbookAnchor: 'function-throttles',
      description: "The account's bound on concurrent functions is reached.",
      metrics: combineMetrics('SUM', 'throttles', buildFunctionMetrics('Throttles')),
      minimum: 1,
      periods: 2,
    },
    {
      runbookAnchor: 'api-5xx',
      description: 'Agents get server errors.',
      metrics: [api.metricServerError({ period: METRIC_PERIOD, statistic: 'Sum' })],
      minimum: MAX_SERVER_ERRORS,
    },
    {
      runbookAnchor: 'wrong-keys',
      description: 'Many calls have a wrong key or none: an agent with an old key, or a stranger.',
      metrics: [refusedCalls.unauthorized],
      minimum: alarms.unauthorizedCalls,
    },
    {
      runbookAnchor: 'throttled-calls',
      description: 'Many calls are refused with 429: a limit of a route, a caller or an inbox is reached.',
      metrics: [refusedCalls.throttled],
      minimum: alarms.throttledCalls,
    },
    {
      runbookAnchor: 'oldest-message',
      description: 'Tasks wait in a queue for longer than they should: its domain has too few agents, or none.',
      metrics: combineMetrics('MAX', 'oldest message (s)', buildOldestMessageMetrics(watched)),
      minimum: Math.ceil(alarms.oldestMessageMs / 1000),
    },
    {
      runbookAnchor: 'relay-not-reading',
      description:
        'Messages for agents on NATS wait in the queues of a relay: it does not run, or does not get through to NATS.',
      metrics: combineMetrics('MAX', 'oldest message for a relay (s)', buildOldestRelayMetrics(watched)),
      minimum: RELAY_AGE_S,
    },
    {
      runbookAnchor: 'sweep-not-running',
      description: 'No sweep has run for five minutes: leases, retries and expiries do not happen.',
      metrics: [functions.sweep.lambda.metricInvocations({ period: METRIC_PERIOD, statistic: 'Sum' })],
      lowerBound: 1,
      missing: TreatMissingData.BREACHING,
    },
    {
      runbookAnchor: 'write-latency',
      description: 'Messages of the message routing protocol take long to be written.',
      metrics: [buildWriteLatencyMetric(stage)],
      exclusiveMaximum: SLOW_WRITE_MS,
      periods: 2,
    },
    {
      runbookAnchor: 'read-latency',
      description: 'Inboxes of the message routing protocol take long to be read.',
      metrics: [buildReadLatencyMetric(stage)],
      exclusiveMaximum: SLOW_READ_MS,
      periods: 2,
    },
    {
      runbookAnchor: 'inbox-depth',
      description:
        'An inbox is nearly full: its agent does not keep up, and its oldest messages are about to be evicted.',
      metrics: [buildInboxDepthMetric(stage)],
      exclusiveMaximum: INBOX_ALMOST_FULL,
    },
  ];
};

const toComparison = ({
  minimum,
  exclusiveMaximum,
  lowerBound = 0,
}: Pick<AlarmRule, 'minimum' | 'exclusiveMaximum' | 'lowerBound'>) => {
  if (exclusiveMaximum !== undefined)
    return { threshold: exclusiveMaximum, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD };
  return minimum === undefined
    ? { threshold: lowerBound, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }
    : { threshold: minimum, comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD };
};

/** They undo a deployment. */
const ROLLBACK = ['api-5xx', 'function-errors'];

export class Alarms extends Construct {
  readonly rollback: Alarm[] = [];

  constructor(scope: Construct, id: string, { aws, watched }: { aws: AwsConfig; watched: MonitoredResources }) {
    super(scope, id);
    const topic = this.addTopic(aws);
    for (const { runbookAnchor, description, metrics, periods = 1, missing, ...bound } of buildAlarmRules(
      watched,
      aws,
    )) {
      for (const [at, metric] of metrics.entries()) {
        const name = metrics.length === 1 ? runbookAnchor : `${runbookAnchor}-${at + 1}`;
        const alarm = new Alarm(this, name, {
          alarmName: `parley-${aws.stage}-${name}`,
          alarmDescription: `${description} docs/operations/runbook.md#${runbookAnchor}`,
          metric,
          ...toComparison(bound),
          evaluationPeriods: periods,
          treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
        });
        alarm.addAlarmAction(new SnsAction(topic));
        if (ROLLBACK.includes(runbookAnchor)) this.rollback.push(alarm);
      }
    }
  }

  private addTopic({ stage, alarms }: AwsConfig): Topic {
    const topic = new Topic(this, 'Topic', { topicName: `parley-${stage}-alarms`, enforceSSL: true });
    // The policy made by `enforceSSL` replaces SNS's default policy, which lets the whole account publish.
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
    );
    if (alarms.email) topic.addSubscription(new EmailSubscription(alarms.email));
    return topic;
  }
}
