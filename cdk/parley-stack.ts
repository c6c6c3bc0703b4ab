import { CfnOutput, DefaultStackSynthesizer, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { AwsConfig } from '../shared/config/aws-config.ts';
import { type Config, ConfigError, hasRelay } from '../shared/config/config.ts';
import { Alarms } from './constructs/alarms.ts';
import { createContentBucket, createFailureBucket } from './constructs/buckets.ts';
import { createDashboard } from './constructs/dashboard.ts';
import { DelayQueue } from './constructs/delay-queue.ts';
import { createCustomerKey } from './constructs/encryption.ts';
import { createEventBus } from './constructs/event-bus.ts';
import { createFunctionUrls } from './constructs/function-urls.ts';
import type { FunctionResources } from './constructs/grant-access.ts';
import { ParleyHttpApi } from './constructs/http-api.ts';
import type { ParleyFunction } from './constructs/parley-function.ts';
import { createFunctions } from './constructs/parley-functions.ts';
import { addQueueMapping } from './constructs/queue-mapping.ts';
import { createRelayNetwork, RelayService } from './constructs/relay-service.ts';
import { addSchedule } from './constructs/schedule.ts';
import { addStreamMapping } from './constructs/stream-mapping.ts';
import { createParleyTable } from './constructs/table.ts';
import { TaskQueues } from './constructs/task-queues.ts';
import type { FunctionName } from './function-specs.ts';

export const DEPLOY_TARGETS = ['aws', 'localstack'] as const;
export type DeployTarget = (typeof DEPLOY_TARGETS)[number];

export interface ParleyStackProps {
  config: Config;
  aws: AwsConfig;
  target: DeployTarget;
  code: (name: FunctionName) => Code;
  relayImage?: () => ContainerImage;
}

/** A burst of timers must not use up the account's concurrency. Lambda's minimum is 2. */
const DUE_CONCURRENCY = 20;
const MIN_CONCURRENCY = 2;

export class ParleyStack extends Stack {
  constructor(scope: Construct, id: string, props: ParleyStackProps) {
    super(scope, id, {
      stackName: `parley-${props.aws.stage}`,
      description: 'Parley: AI agents hand each other work',
      // The CDK command line checks the bootstrap version itself.
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
    });
    const { aws, code, target } = props;
    const onAws = target === 'aws';
    const resources = createResources(this, props, onAws);
    const functions = createFunctions(this, { aws, code, resources });
    const enabled = !aws.paused;
    // Omitted, not disabled: a restored table has another stream, which needs another mapping and grant.
    const stream = enabled
      ? addStreamMapping(functions.dispatch, {
          table: resources.table,
          failures: resources.failures,
          parallelism: aws.streamParallelism,
          withMetrics: onAws,
        })
      : undefined;
    addQueueMapping(functions.due, resources.delayQueue.queue, { enabled, atOnce: DUE_CONCURRENCY });
    for (const queue of resources.queues.deadLetters) {
      addQueueMapping(functions['dead-letters'], queue, { enabled, atOnce: MIN_CONCURRENCY });
    }
    addSchedule(functions.sweep, {
      description: 'Looks for what is due within the next minutes',
      every: Duration.minutes(1),
      enabled,
    });
    addSchedule(functions.replay, {
      description: 'Plays back what the stream gave up, which is mostly nothing',
      every: Duration.hours(1),
      enabled,
    });
    if (onAws) {
      const http = new ParleyHttpApi(this, 'Http', { aws, functions, key: resources.key });
      const monitored = { ...resources, functions, stream, api: http.api, refusedCalls: http.refusedCalls };
      if (aws.alarms.on) new Alarms(this, 'Alarms', { aws, watched: monitored });
      createDashboard(this, aws.stage, monitored);
      if (props.relayImage) addRelays(this, props, resources, http.url, props.relayImage());
      addOutputs(this, { Endpoint: http.url, ...(http.domainTarget ? { DomainTarget: http.domainTarget } : {}) });
    } else {
      addOutputs(this, { Routes: createFunctionUrls(this, functions) });
    }
    addOutputs(this, {
      TableName: resources.table.tableName,
      BusName: resources.bus.eventBusName,
      QueuePrefix: resources.queues.namePrefix,
      QueueUrlPrefix: resources.queues.urlPrefix,
      ContentBucketName: resources.content.bucketName,
      FailureBucketName: resources.failures.bucketName,
      AdminKeyCommand: buildInvokeCommand(functions['admin-key']),
      // A replay may exceed the AWS CLI's read timeout, after which the CLI would invoke it again.
      ReplayCommand: buildInvokeCommand(functions.replay, '--cli-read-timeout 0'),
    });
  }
}

const addRelays = (
  stack: Stack,
  { config, aws }: ParleyStackProps,
  { queues, key }: FunctionResources,
  endpoint: string,
  image: ContainerImage,
): void => {
  const { relay } = aws;
  if (relay === undefined)
    throw new ConfigError('-c relay=fargate needs aws.relay in parley.config.ts: { natsServers: […] }');
  const projects = Object.keys(config.projects).filter((project) => hasRelay(config, project));
  const ground = createRelayNetwork(stack, aws.stage);
  for (const project of projects) {
    const props = { aws, relay, project, endpoint, queues, image, key, ...ground };
    const { keySecret } = new RelayService(stack, `Relay-${project}`, props);
    addOutputs(stack, { [`RelayKeySecret${project.replaceAll('-', '')}`]: keySecret.secretName });
  }
};

const createResources = (stack: Stack, { config, aws }: ParleyStackProps, onAws: boolean): FunctionResources => {
  const { stage } = aws;
  const key = aws.customerKey && onAws ? createCustomerKey(stack, stage) : undefined;
  const keep = aws.removal === 'retain' && onAws;
  const removal = keep ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
  return {
    table: createParleyTable(stack, { removal, protect: keep, key, maxUnits: aws.maxTableUnits }),
    queues: new TaskQueues(stack, 'Lanes', { config, stage, key }),
    delayQueue: new DelayQueue(stack, 'Delay', { stage, key }),
    bus: createEventBus(stack, { stage, keepMs: config.events.retentionMs, archive: onAws }),
    content: createContentBucket(stack, { removal, key }),
    failures: createFailureBucket(stack, { removal, key }),
    key,
  };
};

const addOutputs = (stack: Stack, values: Record<string, string>): void => {
  for (const [name, value] of Object.entries(values)) new CfnOutput(stack, name, { value });
};

const buildInvokeCommand = ({ lambda }: ParleyFunction, ...options: string[]): string =>
  `aws lambda invoke --function-name ${[lambda.functionName, ...options].join(' ')} --cli-binary-format raw-in-base64-out --payload '{}' /dev/stdout`;
