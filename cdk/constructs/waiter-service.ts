import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { VpcLink } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpServiceDiscoveryIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Peer, Port, SecurityGroup, SubnetType } from 'aws-cdk-lib/aws-ec2';
import {
  type ContainerImage,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  LogDrivers,
  OperatingSystemFamily,
} from 'aws-cdk-lib/aws-ecs';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { DnsRecordType, PrivateDnsNamespace } from 'aws-cdk-lib/aws-servicediscovery';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { FunctionEnv } from '../../functions/runtime/env.ts';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import { WAITER_ACCESS } from '../function-specs.ts';
import { type FunctionResources, grantAccess } from './grant-access.ts';
import type { Network } from './network.ts';
import { METRIC_NAMESPACE } from './parley-metrics.ts';

export interface WaiterServiceProps {
  aws: AwsConfig;
  waiter: NonNullable<AwsConfig['waiter']>;
  env: FunctionEnv;
  image: ContainerImage;
  network: Network;
  wakeQueue: Queue;
  resources: FunctionResources;
}

const PORT = 8080;
/** Its last poll ends within 20 s. */
const STOP_TIMEOUT = Duration.seconds(40);

/** One process in which all agents wait. The HTTP API reaches it through a VPC link and Cloud Map, without a load balancer. */
export class WaiterService extends Construct {
  readonly service: FargateService;
  readonly integration: HttpServiceDiscoveryIntegration;

  constructor(scope: Construct, id: string, props: WaiterServiceProps) {
    super(scope, id);
    const { aws, network } = props;
    const { vpc, cluster } = network;
    const name = `parley-${aws.stage}-waiter`;
    const description = 'From the HTTP API to the waiter';
    const fromApi = new SecurityGroup(this, 'FromApi', { vpc, allowAllOutbound: false, description });
    const calls = new SecurityGroup(this, 'Calls', {
      vpc,
      allowAllOutbound: false,
      description: 'In from the HTTP API, out to AWS',
    });
    calls.addEgressRule(Peer.anyIpv4(), Port.tcp(443), 'AWS');
    calls.addIngressRule(fromApi, Port.tcp(PORT), 'The HTTP API');
    fromApi.addEgressRule(calls, Port.tcp(PORT), 'The waiter');
    const namespace = new PrivateDnsNamespace(this, 'Namespace', { vpc, name: `${name}.internal` });
    this.service = new FargateService(this, 'Service', {
      cluster,
      serviceName: name,
      taskDefinition: this.#createTask(props, name),
      desiredCount: aws.paused ? 0 : 1,
      assignPublicIp: true,
      securityGroups: [calls],
      // Starts the next one before it stops the last.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
      // API Gateway takes the port from an SRV record.
      cloudMapOptions: {
        name: 'waiter',
        cloudMapNamespace: namespace,
        dnsRecordType: DnsRecordType.SRV,
        dnsTtl: Duration.seconds(10),
      },
    });
    const { cloudMapService } = this.service;
    if (cloudMapService === undefined) throw new Error('the service is in no Cloud Map');
    const vpcLink = new VpcLink(this, 'Link', {
      vpc,
      vpcLinkName: name,
      subnets: { subnetType: SubnetType.PUBLIC },
      securityGroups: [fromApi],
    });
    this.integration = new HttpServiceDiscoveryIntegration('waiter', cloudMapService, { vpcLink });
  }

  #createTask(props: WaiterServiceProps, name: string): FargateTaskDefinition {
    const { aws, waiter, env, image, wakeQueue, resources } = props;
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('ecs-tasks.amazonaws.com') });
    grantAccess(role, WAITER_ACCESS, resources);
    role.addToPolicy(
      new PolicyStatement({ actions: ['sqs:ReceiveMessage', 'sqs:SendMessage'], resources: [wakeQueue.queueArn] }),
    );
    const task = new FargateTaskDefinition(this, 'Task', {
      family: name,
      cpu: waiter.cpu,
      memoryLimitMiB: waiter.memoryMB,
      taskRole: role,
      runtimePlatform: { cpuArchitecture: CpuArchitecture.ARM64, operatingSystemFamily: OperatingSystemFamily.LINUX },
    });
    const logGroup = new LogGroup(this, 'Log', {
      logGroupName: `/parley/${name}`,
      retention: aws.logDays,
      encryptionKey: resources.key,
      removalPolicy: resources.logRemoval,
    });
    task.addContainer('waiter', {
      image,
      readonlyRootFilesystem: true,
      stopTimeout: STOP_TIMEOUT,
      logging: LogDrivers.awsLogs({ streamPrefix: 'waiter', logGroup }),
      portMappings: [{ containerPort: PORT }],
      healthCheck: {
        command: [
          'CMD',
          '/nodejs/bin/node',
          '-e',
          `fetch('http://127.0.0.1:${PORT}/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))`,
        ],
        interval: Duration.seconds(30),
        startPeriod: Duration.seconds(30),
      },
      environment: {
        ...env,
        WAKE_QUEUE_URL: wakeQueue.queueUrl,
        WAITER_PORT: String(PORT),
        AWS_REGION: Stack.of(this).region,
        POWERTOOLS_SERVICE_NAME: 'waiter',
        POWERTOOLS_METRICS_NAMESPACE: METRIC_NAMESPACE,
      },
    });
    Validations.of(task).acknowledge({
      id: 'AwsSolutions-ECS2',
      reason: 'The environment holds names and addresses, and no secret.',
    });
    Validations.of(task.obtainExecutionRole()).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'ecr:GetAuthorizationToken, by which the image is fetched, is granted on no single resource.',
    });
    return task;
  }
}
