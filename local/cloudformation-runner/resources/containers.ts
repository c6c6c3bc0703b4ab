import { z } from 'zod';
import { buildArn, defineResourceType, getPhysicalName, type ResourceType } from '../resource-type.ts';

const Container = z.looseObject({
  Name: z.string(),
  Environment: z.array(z.object({ Name: z.string(), Value: z.string() })).default([]),
});

export const TaskDefinition = defineResourceType(
  'AWS::ECS::TaskDefinition',
  z.looseObject({ ContainerDefinitions: z.tuple([Container]), TaskRoleArn: z.string() }),
  { ref: buildArn('ecs', (name) => `task-definition/${name}:1`) },
);

export const Service = defineResourceType(
  'AWS::ECS::Service',
  z.looseObject({
    ServiceName: z.string(),
    TaskDefinition: z.string(),
    DesiredCount: z.number().default(1),
    ServiceRegistries: z.array(z.looseObject({ RegistryArn: z.string() })).default([]),
  }),
  { nameProperty: 'ServiceName', ref: buildArn('ecs', (name) => `service/${name}`) },
);

export const Discovery = defineResourceType('AWS::ServiceDiscovery::Service', z.looseObject({}), {
  attributes: { Arn: buildArn('servicediscovery', (name) => `service/${name}`), Id: getPhysicalName },
});

/** The network in which containers run has no effect here: all listen on this machine. */
const inert = (type: string, ...attributes: string[]): ResourceType =>
  defineResourceType(type, z.looseObject({}), {
    attributes: Object.fromEntries(attributes.map((name) => [name, getPhysicalName])),
  });

export const CONTAINER_NETWORK: readonly ResourceType[] = [
  inert('AWS::EC2::VPC', 'CidrBlock', 'DefaultSecurityGroup', 'VpcId'),
  inert('AWS::EC2::Subnet', 'SubnetId'),
  inert('AWS::EC2::RouteTable'),
  inert('AWS::EC2::SubnetRouteTableAssociation'),
  inert('AWS::EC2::Route'),
  inert('AWS::EC2::InternetGateway'),
  inert('AWS::EC2::VPCGatewayAttachment'),
  inert('AWS::EC2::SecurityGroup', 'GroupId', 'VpcId'),
  inert('AWS::EC2::SecurityGroupIngress'),
  inert('AWS::EC2::SecurityGroupEgress'),
  inert('AWS::ECS::Cluster', 'Arn'),
  inert('AWS::ServiceDiscovery::PrivateDnsNamespace', 'Arn', 'Id'),
  inert('AWS::ApiGatewayV2::VpcLink', 'VpcLinkId'),
];
