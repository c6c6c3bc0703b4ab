import type { Kind } from '../kind.ts';
import { EventInvokeConfig, EventSourceMapping, FunctionUrl, LambdaFunction, Permission } from './compute.ts';
import { Api, ApiMapping, DomainName, Integration, Route, Stage } from './http-api.ts';
import { Archive, EventBus, Queue, Rule, Schedule, ScheduleGroup } from './messaging.ts';
import { BucketPolicy, ManagedPolicy, Policy, QueuePolicy, Role } from './permissions.ts';
import { Bucket, GlobalTable, Table } from './storage.ts';
import { WITHOUT_EFFECT } from './without-effect.ts';

const ALL: readonly Kind[] = [
  Table,
  GlobalTable,
  Bucket,
  Queue,
  EventBus,
  Rule,
  Archive,
  Schedule,
  ScheduleGroup,
  LambdaFunction,
  EventSourceMapping,
  EventInvokeConfig,
  FunctionUrl,
  Permission,
  Api,
  Stage,
  Integration,
  Route,
  DomainName,
  ApiMapping,
  Role,
  Policy,
  ManagedPolicy,
  QueuePolicy,
  BucketPolicy,
  ...WITHOUT_EFFECT,
];

export const KINDS: ReadonlyMap<string, Kind> = new Map(ALL.map((each) => [each.type, each]));
