import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

export interface ParleyDomain {
  /** Shown to agents that list the domains. */
  description: string;
  transport?: 'http' | 'nats';
}

export interface ParleyProject {
  domains: Record<string, ParleyDomain>;
  /** Whether agents on NATS take part. */
  relay?: boolean;
}

/** The settings of `parley.config.ts`. What is wrong with them is said at synthesis. */
export interface ParleyProps {
  /** Of the project `default`. */
  domains?: Record<string, ParleyDomain>;
  /** For more than one project. */
  projects?: Record<string, ParleyProject>;
  /** A part of all resource names: two in one account and region need two. By default `dev`. */
  stage?: string;
  /** Settings of the deployment, without `stage`. */
  aws?: Record<string, unknown>;
  /** With it, relays of projects run on Fargate. */
  relayImage?: ContainerImage;
  /** For `aws.waiter`: of `waiter/Dockerfile`. */
  waiterImage?: ContainerImage;
  dialects?: Record<string, unknown>;
  tasks?: Record<string, unknown>;
  cards?: Record<string, unknown>;
  turns?: Record<string, unknown>;
  events?: Record<string, unknown>;
  outbound?: Record<string, unknown>;
  consumers?: Record<string, unknown>;
  auditLog?: Record<string, boolean>;
  agents?: Record<string, unknown>;
  mcp?: Record<string, unknown>;
  limits?: Record<string, unknown>;
}

export declare class Parley extends Construct {
  constructor(scope: Construct, id: string, props: ParleyProps);
  /** Of the API. */
  readonly url: string;
  readonly table: ITable;
  /** Sets the key of an administrator. */
  readonly adminKeyFunction: IFunction;
  /** The events of a project. */
  getBus(project?: string): IEventBus;
}
