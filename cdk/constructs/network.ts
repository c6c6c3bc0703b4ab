import { Validations } from 'aws-cdk-lib';
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Cluster, ContainerInsights } from 'aws-cdk-lib/aws-ecs';
import type { Construct } from 'constructs';

export interface Network {
  vpc: Vpc;
  cluster: Cluster;
}

/** For what runs on Fargate. Public addresses cost less than a NAT gateway; security groups let in what the stack itself sends. */
export const createNetwork = (scope: Construct, stage: string, { hasRelays }: { hasRelays: boolean }): Network => {
  const subnet = { name: 'relay', subnetType: SubnetType.PUBLIC, cidrMask: 24 };
  const vpc = new Vpc(scope, 'RelayNetwork', {
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [subnet],
    // It would take a function that may change the network. Nothing here is in that group.
    restrictDefaultSecurityGroup: false,
  });
  Validations.of(vpc).acknowledge({
    id: 'AwsSolutions-VPC7',
    reason: 'Nobody outside can reach anything in it, and what calls out logs what it does.',
  });
  const cluster = new Cluster(scope, 'RelayCluster', {
    vpc,
    clusterName: `parley-${stage}-relays`,
    containerInsightsV2: hasRelays ? ContainerInsights.ENABLED : ContainerInsights.DISABLED,
  });
  if (!hasRelays) {
    Validations.of(cluster).acknowledge({
      id: 'AwsSolutions-ECS4',
      reason: 'They would cost as much as the one small task that is here. Calls to it are in the access log.',
    });
  }
  return { vpc, cluster };
};
