import { CfnOutput, DefaultStackSynthesizer, Duration, RemovalPolicy, Stack, Tags } from 'aws-cdk-lib';
import type { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { AwsConfig } from '../shared/config/aws-config.ts';
import { planConcurrency } from '../shared/config/concurrency.ts';
import { type Config, ConfigError } from '../shared/config/config.ts';
import { hasRelay } from '../shared/config/project-settings.ts';
import { Alarms } from './constructs/alarms.ts';
import { createContentBucket, createFailureBucket } from './constructs/buckets.ts';
import { addCanaries } from './constructs/canaries.ts';
import { createDashboard } from './constructs/dashboard.ts';
import { DelayQueue } from './constructs/delay-queue.ts';
import { createEdgeSecret, Edge } from './constructs/edge.ts';
import { createCustomerKey } from './constructs/encryption.ts';
import { createEventBuses } from './constructs/event-bus.ts';
import { createFunctionUrls } from './constructs/function-urls.ts';
import type { FunctionResources } from './constructs/grant-access.ts';
import { ParleyHttpApi } from './constructs/http-api.ts';
import { createNetwork, type Network } from './constructs/network.ts';
import type { ParleyFunction } from './constructs/parley-function.ts';
import { buildFunctionEnv, createFunctions } from './constructs/parley-functions.ts';
import { addQueueMapping } from './constructs/queue-mapping.ts';
import { listRelayPolicies } from './constructs/relay-policy.ts';
import { RelayService } from './constructs/relay-service.ts';
import { addSchedule } from './constructs/schedule.ts';
import { addStreamMapping } from './constructs/stream-mapping.ts';
import { Subscriptions } from './constructs/subscriptions.ts';
import { createParleyTable } from './constructs/table.ts';
import { TaskQueues } from './constructs/task-queues.ts';
import { WaiterService } from './constructs/waiter-service.ts';
import { createWakeQueue } from './constructs/wake-queue.ts';
import type { FunctionName } from './function-specs.ts';

export const DEPLOY_TARGETS = ['aws', 'localstack'] as const;
export type DeployTarget = (typeof DEPLOY_TARGETS)[number];

export interface ParleyStackProps {
  config: Config;
  aws: AwsConfig;
  target: DeployTarget;
  code: (name: FunctionName) => Code;
  relayImage?: () => ContainerImage;
  waiterImage?: () => ContainerImage;
}

/** Lambda's minimum for a queue. */
const MIN_CONCURRENCY = 2;

export class ParleyStack extends Stack {
  constructor(scope: Construct, id: string, props: ParleyStackProps) {
    super(scope, id, {
      stackName: `parley-${props.aws.stage}`,
      description: 'Parley: AI agents hand each other work',
      // The CDK command line checks the bootstrap version itself.
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
      terminationProtection: isKept(props),
    });
    createParley(this, props);
  }
}

export interface ParleyParts extends FunctionResources {
  functions: Record<FunctionName, ParleyFunction>;
  /** Of the API; not on LocalStack. */
  url?: string;
}

/** In a stack of its own, or in another one. */
export const createParley = (scope: Construct, props: ParleyStackProps): ParleyParts => {
  const { aws, code, target } = props;
  const onAws = target === 'aws';
  Tags.of(scope).add('parley:stage', aws.stage);
  const resources = createResources(scope, props, onAws);
  const edgeSecret = aws.edge && onAws ? createEdgeSecret(scope, aws.stage) : undefined;
  const functions = createFunctions(scope, { aws, code, resources, edgeSecret });
  const enabled = !aws.paused;
  const plan = planConcurrency(aws, Object.keys(props.config.projects).length);
  // Omitted, not disabled: a restored table has another stream, which needs another mapping and grant.
  const stream = enabled
    ? addStreamMapping(functions.dispatch, {
        table: resources.table,
        failures: resources.failures,
        parallelism: plan.streamParallelism,
        isSplit: plan.isSplit,
        withMetrics: onAws,
      })
    : [];
  addQueueMapping(functions.due, resources.delayQueue.queue, { enabled, atOnce: plan.timers });
  for (const queue of resources.queues.deadLetters) {
    addQueueMapping(functions['dead-letters'], queue, { enabled, atOnce: MIN_CONCURRENCY });
  }
  addSchedule(functions.sweep, {
    description: 'Looks for what is due within the next minutes',
    every: Duration.minutes(1),
    enabled,
  });
  addSchedule(functions.replay, {
    description: 'Plays back what was put aside, which is mostly nothing',
    every: Duration.minutes(5),
    enabled,
  });
  const { buses, key } = resources;
  const subscriptions = new Subscriptions(scope, 'Subscriptions', {
    aws,
    buses,
    key,
    logRemoval: resources.logRemoval,
  });
  let url: string | undefined;
  if (onAws) {
    let network: Network | undefined;
    const getNetwork = (): Network => {
      network ??= createNetwork(scope, aws.stage, { hasRelays: props.relayImage !== undefined });
      return network;
    };
    const { logRemoval } = resources;
    const waiter = createWaiter(scope, props, resources, { getNetwork, edgeSecret })?.integration;
    const http = new ParleyHttpApi(scope, 'Http', { aws, functions, waiter, key, logRemoval });
    const monitored = {
      ...resources,
      functions,
      stream,
      api: http.api,
      refusedCalls: http.refusedCalls,
      lostEvents: subscriptions.deadLetters,
    };
    const edge =
      aws.edge && edgeSecret
        ? new Edge(scope, 'Edge', { stage: aws.stage, edge: aws.edge, api: http.api, secret: edgeSecret })
        : undefined;
    url = edge?.url ?? http.url;
    const domainTarget = edge?.target ?? http.domainTarget;
    const alarms = aws.alarms.on ? new Alarms(scope, 'Alarms', { aws, watched: monitored }) : undefined;
    if (aws.canary) addCanaries(scope, functions, alarms?.rollback ?? []);
    createDashboard(scope, aws.stage, monitored);
    if (props.relayImage)
      addRelays(scope, props, resources, { endpoint: url, image: props.relayImage(), network: getNetwork() });
    for (const { project, policy } of listRelayPolicies(scope, resources))
      addOutputs(scope, { [`RelayPolicy${project.replaceAll('-', '')}`]: policy });
    addOutputs(scope, { Endpoint: url, ...(domainTarget ? { DomainTarget: domainTarget } : {}) });
  } else {
    addOutputs(scope, { Routes: createFunctionUrls(scope, functions) });
  }
  addOutputs(scope, {
    TableName: resources.table.tableName,
    BusNames: buses.map(({ bus }) => bus.eventBusName).join(' '),
    QueuePrefix: resources.queues.namePrefix,
    QueueUrlPrefix: resources.queues.urlPrefix,
    ContentBucketName: resources.content.bucketName,
    FailureBucketName: resources.failures.bucketName,
    AdminKeyCommand: buildInvokeCommand(functions['admin-key']),
    // A replay may exceed the AWS CLI's read timeout, after which the CLI would invoke it again.
    ReplayCommand: buildInvokeCommand(functions.replay, '--cli-read-timeout 0'),
  });
  return { ...resources, functions, ...(url !== undefined && { url }) };
};

const addRelays = (
  scope: Construct,
  { config, aws }: ParleyStackProps,
  { queues, key }: FunctionResources,
  given: { endpoint: string; image: ContainerImage; network: Network },
): void => {
  const { relay } = aws;
  if (relay === undefined)
    throw new ConfigError('-c relay=fargate needs aws.relay in parley.config.ts: { natsServers: […] }');
  const projects = Object.keys(config.projects).filter((project) => hasRelay(config, project));
  for (const project of projects) {
    const props = { aws, relay, project, queues, key, ...given };
    const { keySecret } = new RelayService(scope, `Relay-${project}`, props);
    addOutputs(scope, { [`RelayKeySecret${project.replaceAll('-', '')}`]: keySecret.secretName });
  }
};

const createWaiter = (
  scope: Construct,
  { aws, waiterImage }: ParleyStackProps,
  resources: FunctionResources,
  given: { getNetwork: () => Network; edgeSecret: string | undefined },
): WaiterService | undefined => {
  const { waiter } = aws;
  const { wakeQueue } = resources;
  if (waiter === undefined || wakeQueue === undefined) return undefined;
  if (waiterImage === undefined) throw new ConfigError('aws.waiter needs waiterImage: the image of waiter/Dockerfile');
  const { edgeSecret } = given;
  const env = {
    ...buildFunctionEnv(aws.stage, resources),
    ...(edgeSecret !== undefined && { EDGE_SECRET: edgeSecret }),
  };
  const network = given.getNetwork();
  return new WaiterService(scope, 'Waiter', { aws, waiter, env, image: waiterImage(), network, wakeQueue, resources });
};

/** Whoever ends a stage that is kept must say so twice. */
const isKept = ({ aws, target }: ParleyStackProps): boolean => aws.removal === 'retain' && target === 'aws';

const createResources = (scope: Construct, props: ParleyStackProps, onAws: boolean): FunctionResources => {
  const { config, aws } = props;
  const { stage } = aws;
  const key = aws.customerKey && onAws ? createCustomerKey(scope, stage) : undefined;
  const keep = isKept(props);
  const removal = keep ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
  return {
    table: createParleyTable(scope, {
      removal,
      protect: keep,
      key,
      maxUnits: aws.maxTableUnits,
      warmUnits: aws.warmThroughput,
    }),
    queues: new TaskQueues(scope, 'Lanes', { config, stage, key }),
    delayQueue: new DelayQueue(scope, 'Delay', { stage, key }),
    ...(aws.waiter && onAws && { wakeQueue: createWakeQueue(scope, stage, key) }),
    buses: createEventBuses(scope, {
      stage,
      projects: Object.keys(config.projects),
      keepMs: config.events.retentionMs,
      archive: onAws,
    }),
    content: createContentBucket(scope, { removal, key }),
    failures: createFailureBucket(scope, { removal, key }),
    key,
    logRemoval: removal,
  };
};

const addOutputs = (scope: Construct, values: Record<string, string>): void => {
  for (const [name, value] of Object.entries(values)) new CfnOutput(scope, name, { value });
};

const buildInvokeCommand = ({ lambda }: ParleyFunction, ...options: string[]): string =>
  `aws lambda invoke --function-name ${[lambda.functionName, ...options].join(' ')} --cli-binary-format raw-in-base64-out --payload '{}' /dev/stdout`;
