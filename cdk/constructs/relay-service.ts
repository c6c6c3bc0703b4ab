import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Peer, Port, SecurityGroup } from 'aws-cdk-lib/aws-ec2';
import {
  type ContainerImage,
  CpuArchitecture,
  Secret as EcsSecret,
  FargateService,
  FargateTaskDefinition,
  LogDrivers,
  OperatingSystemFamily,
} from 'aws-cdk-lib/aws-ecs';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import type { Network } from './network.ts';
import { buildRelayStatements } from './relay-policy.ts';
import type { TaskQueues } from './task-queues.ts';

export interface RelayServiceProps {
  aws: AwsConfig;
  relay: NonNullable<AwsConfig['relay']>;
  project: string;
  endpoint: string;
  queues: TaskQueues;
  image: ContainerImage;
  network: Network;
  key?: IKey;
}

/** The smallest Fargate size with room for the relay's 150 MB. */
const CPU = 256;
const MEMORY_MIB = 512;
/** The relay drains within 20 s. */
const STOP_TIMEOUT = Duration.seconds(30);
const HEALTH_CHECK =
  "fetch('http://127.0.0.1:8080/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))";

export class RelayService extends Construct {
  readonly service: FargateService;
  readonly keySecret: Secret;

  constructor(scope: Construct, id: string, props: RelayServiceProps) {
    super(scope, id);
    const { aws, relay, project, key } = props;
    const name = `parley-${aws.stage}-${project}-relay`;
    this.keySecret = new Secret(this, 'Key', {
      secretName: `${name}-key`,
      description: `The key of the relay of ${project}: put what POST /v1/relay/key gave here`,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    Validations.of(this.keySecret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'An administrator rotates the key with POST /v1/relay/key, and puts it here.',
    });
    const task = this.#createTaskDefinition(props, name);
    const securityGroup = new SecurityGroup(this, 'Calls', {
      vpc: props.network.vpc,
      allowAllOutbound: false,
      description: 'Out to NATS, Parley and AWS; nothing in',
    });
    securityGroup.addEgressRule(Peer.anyIpv4(), Port.tcp(443), 'Parley and AWS');
    for (const port of relay.natsPorts) securityGroup.addEgressRule(Peer.anyIpv4(), Port.tcp(port), 'NATS');
    this.service = new FargateService(this, 'Service', {
      cluster: props.network.cluster,
      serviceName: name,
      taskDefinition: task,
      desiredCount: aws.paused ? 0 : relay.count,
      assignPublicIp: true,
      securityGroups: [securityGroup],
      // Starts one more task before it stops one, so a failed deployment takes no relay away.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
    });
  }

  #createTaskDefinition(
    { aws, relay, project, endpoint, queues: queueKeys, image, key }: RelayServiceProps,
    name: string,
  ): FargateTaskDefinition {
    const task = new FargateTaskDefinition(this, 'Task', {
      family: name,
      cpu: CPU,
      memoryLimitMiB: MEMORY_MIB,
      runtimePlatform: { cpuArchitecture: CpuArchitecture.ARM64, operatingSystemFamily: OperatingSystemFamily.LINUX },
    });
    for (const statement of buildRelayStatements({ queues: queueKeys, key }, project))
      task.addToTaskRolePolicy(statement);
    const logGroup = new LogGroup(this, 'Log', {
      logGroupName: `/parley/${name}`,
      retention: aws.logDays,
      encryptionKey: key,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    task.addContainer('relay', {
      image,
      readonlyRootFilesystem: true,
      stopTimeout: STOP_TIMEOUT,
      // ECS ignores the health check of the image.
      healthCheck: {
        command: ['CMD', '/nodejs/bin/node', '-e', HEALTH_CHECK],
        interval: Duration.seconds(30),
        timeout: Duration.seconds(5),
        startPeriod: Duration.seconds(60),
      },
      logging: LogDrivers.awsLogs({ streamPrefix: 'relay', logGroup }),
      environment: {
        AWS_REGION: Stack.of(this).region,
        PARLEY_URL: endpoint,
        PARLEY_QUEUE_URL_PREFIX: queueKeys.urlPrefix,
        NATS_SERVERS: relay.natsServers.join(','),
        NATS_TLS_ENABLED: String(relay.tls),
      },
      secrets: { PARLEY_RELAY_KEY: EcsSecret.fromSecretsManager(this.keySecret) },
    });
    Validations.of(task).acknowledge({
      id: 'AwsSolutions-ECS2',
      reason: 'The environment holds addresses; the key comes from Secrets Manager.',
    });
    Validations.of(task.obtainExecutionRole()).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'ecr:GetAuthorizationToken, by which the image is fetched, is granted on no single resource.',
    });
    return task;
  }
}
