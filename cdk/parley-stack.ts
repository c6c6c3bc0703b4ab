import { CfnOutput, DefaultStackSynthesizer, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { AwsConfig } from '../shared/aws-config.ts';
import { type Config, ConfigError, hasRelay } from '../shared/config.ts';
import { Alarms } from './constructs/alarms.ts';
import { contentBucket, failureBucket } from './constructs/buckets.ts';
import { dashboard } from './constructs/dashboard.ts';
import { DelayQueue } from './constructs/delay-queue.ts';
import { customerKey } from './constructs/encryption.ts';
import { eventBus } from './constructs/event-bus.ts';
import { functionUrls } from './constructs/function-urls.ts';
import type { Surroundings } from './constructs/grants.ts';
import { ParleyHttpApi } from './constructs/http-api.ts';
import { Lanes } from './constructs/lanes.ts';
import type { ParleyFunction } from './constructs/parley-function.ts';
import { parleyFunctions } from './constructs/parley-functions.ts';
import { queueMapping } from './constructs/queue-mapping.ts';
import { RelayService, relayGround } from './constructs/relay-service.ts';
import { schedule } from './constructs/schedule.ts';
import { streamMapping } from './constructs/stream-mapping.ts';
import { parleyTable } from './constructs/table.ts';
import type { FunctionName } from './functions.ts';

export const TARGETS = ['aws', 'localstack'] as const;
export type Target = (typeof TARGETS)[number];

export interface ParleyStackProps {
  config: Config;
  aws: AwsConfig;
  /** LocalStack gets only what its free tier has. */
  target: Target;
  code: (name: FunctionName) => Code;
  /** Relays run on Fargate, from this image. */
  relayImage?: () => ContainerImage;
}

/** Of a queue's batches: a burst of due times must not take all of the account's concurrency. Lambda takes 2 or more. */
const DUE_AT_ONCE = 20;
const FEWEST_AT_ONCE = 2;

/** One deployment of Parley. */
export class ParleyStack extends Stack {
  constructor(scope: Construct, id: string, props: ParleyStackProps) {
    super(scope, id, {
      stackName: `parley-${props.aws.stage}`,
      description: 'Parley: AI agents hand each other work',
      // The CDK's command line checks the bootstrap's version by itself.
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
    });
    const { aws, code, target } = props;
    const onAws = target === 'aws';
    const surroundings = surroundingsOf(this, props, onAws);
    const functions = parleyFunctions(this, { aws, code, surroundings });
    const enabled = !aws.paused;
    // Left out and not switched off: a restored table has another stream, and so it needs another mapping and grant.
    const stream = enabled
      ? streamMapping(functions.dispatch, {
          table: surroundings.table,
          failures: surroundings.failures,
          parallelism: aws.streamParallelism,
          counted: onAws,
        })
      : undefined;
    queueMapping(functions.due, surroundings.delay.queue, { enabled, atOnce: DUE_AT_ONCE });
    for (const queue of surroundings.lanes.deadLetters) {
      queueMapping(functions['dead-letters'], queue, { enabled, atOnce: FEWEST_AT_ONCE });
    }
    schedule(functions.sweep, {
      description: 'Looks for what is due within the next minutes',
      every: Duration.minutes(1),
      enabled,
    });
    schedule(functions.replay, {
      description: 'Plays back what the stream gave up, which is mostly nothing',
      every: Duration.hours(1),
      enabled,
    });
    if (onAws) {
      const http = new ParleyHttpApi(this, 'Http', { aws, functions, key: surroundings.key });
      const watched = { ...surroundings, functions, stream, api: http.api };
      if (aws.alarms.on) new Alarms(this, 'Alarms', { aws, watched });
      dashboard(this, aws.stage, watched);
      if (props.relayImage) relays(this, props, surroundings, http.url, props.relayImage());
      output(this, { Endpoint: http.url, ...(http.domainTarget ? { DomainTarget: http.domainTarget } : {}) });
    } else {
      output(this, { Routes: functionUrls(this, functions) });
    }
    output(this, {
      TableName: surroundings.table.tableName,
      BusName: surroundings.bus.eventBusName,
      QueuePrefix: surroundings.lanes.namePrefix,
      QueueUrlPrefix: surroundings.lanes.urlPrefix,
      ContentBucketName: surroundings.content.bucketName,
      FailureBucketName: surroundings.failures.bucketName,
      AdminKeyCommand: invocation(functions['admin-key']),
      // It may run for longer than the command line waits by itself, which would then call it again.
      ReplayCommand: invocation(functions.replay, '--cli-read-timeout 0'),
    });
  }
}

const relays = (
  stack: Stack,
  { config, aws }: ParleyStackProps,
  { lanes, key }: Surroundings,
  endpoint: string,
  image: ContainerImage,
): void => {
  const { relay } = aws;
  if (relay === undefined)
    throw new ConfigError('-c relay=fargate needs aws.relay in parley.config.ts: { natsServers: […] }');
  const projects = Object.keys(config.projects).filter((project) => hasRelay(config, project));
  const ground = relayGround(stack, aws.stage);
  for (const project of projects) {
    const props = { aws, relay, project, endpoint, lanes, image, key, ...ground };
    const { keySecret } = new RelayService(stack, `Relay-${project}`, props);
    output(stack, { [`RelayKeySecret${project.replaceAll('-', '')}`]: keySecret.secretName });
  }
};

const surroundingsOf = (stack: Stack, { config, aws }: ParleyStackProps, onAws: boolean): Surroundings => {
  const { stage } = aws;
  const key = aws.customerKey && onAws ? customerKey(stack, stage) : undefined;
  const keep = aws.removal === 'retain' && onAws;
  const removal = keep ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
  return {
    table: parleyTable(stack, { removal, protect: keep, key }),
    lanes: new Lanes(stack, 'Lanes', { config, stage, key }),
    delay: new DelayQueue(stack, 'Delay', { stage, key }),
    bus: eventBus(stack, { stage, keepMs: config.events.keepMs, archive: onAws }),
    content: contentBucket(stack, { removal, key }),
    failures: failureBucket(stack, { removal, key }),
    key,
  };
};

const output = (stack: Stack, values: Record<string, string>): void => {
  for (const [name, value] of Object.entries(values)) new CfnOutput(stack, name, { value });
};

const invocation = ({ lambda }: ParleyFunction, ...options: string[]): string =>
  `aws lambda invoke --function-name ${[lambda.functionName, ...options].join(' ')} --cli-binary-format raw-in-base64-out --payload '{}' /dev/stdout`;
