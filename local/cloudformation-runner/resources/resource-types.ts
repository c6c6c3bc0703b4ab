import type { ResourceType } from '../resource-type.ts';
import { EventInvokeConfig, EventSourceMapping, FunctionUrl, LambdaFunctionType, Permission } from './compute.ts';
import { CONTAINER_NETWORK, Discovery, Service, TaskDefinition } from './containers.ts';
import { Api, ApiMapping, ApiRouteType, DomainName, Integration, Stage } from './http-api.ts';
import { WITHOUT_EFFECT } from './inert-types.ts';
import { Archive, EventBus, EventRuleType, Queue, Schedule, ScheduleGroup } from './messaging.ts';
import { BucketPolicy, ManagedPolicy, Policy, QueuePolicy, Role } from './permissions.ts';
import { Bucket, DynamoTableType, GlobalTable } from './storage.ts';

const ALL: readonly ResourceType[] = [
  DynamoTableType,
  GlobalTable,
  Bucket,
  Queue,
  EventBus,
  EventRuleType,
  Archive,
  Schedule,
  ScheduleGroup,
  LambdaFunctionType,
  EventSourceMapping,
  EventInvokeConfig,
  FunctionUrl,
  Permission,
  Api,
  Stage,
  Integration,
  ApiRouteType,
  DomainName,
  ApiMapping,
  Role,
  Policy,
  ManagedPolicy,
  QueuePolicy,
  BucketPolicy,
  TaskDefinition,
  Service,
  Discovery,
  ...CONTAINER_NETWORK,
  ...WITHOUT_EFFECT,
];

export const RESOURCE_TYPES: ReadonlyMap<string, ResourceType> = new Map(ALL.map((each) => [each.type, each]));
