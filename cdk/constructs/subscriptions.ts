import { Aws, type RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { CfnRule, type EventBus } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { CfnPermission } from 'aws-cdk-lib/aws-lambda';
import { CfnResourcePolicy, LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import type { Subscription } from '../../shared/config/bus-config.ts';
import type { ProjectBus } from './event-bus.ts';
import { createQueue } from './queues.ts';

export interface SubscriptionsProps {
  aws: AwsConfig;
  buses: ProjectBus[];
  key: IKey | undefined;
  logRemoval: RemovalPolicy;
}

interface Target {
  arn: string;
  roleArn?: string;
  /** Lets the rule reach it: of all targets but buses, the resource says who may. */
  permit?: (ruleArn: string) => void;
}

const EVENTS = 'events.amazonaws.com';

/** Each is a rule of the bus of its project, with a dead-letter queue: EventBridge tries for a day, then gives up. */
export class Subscriptions extends Construct {
  readonly deadLetters: Queue[];
  readonly #props: SubscriptionsProps;

  constructor(scope: Construct, id: string, props: SubscriptionsProps) {
    super(scope, id);
    this.#props = props;
    const { subscriptions } = props.aws;
    if (props.key && Object.keys(subscriptions).length > 0)
      props.key.grant(new ServicePrincipal(EVENTS), 'kms:Decrypt', 'kms:GenerateDataKey');
    this.deadLetters = Object.entries(subscriptions).map(([name, subscription]) => this.#addRule(name, subscription));
  }

  #addRule(name: string, subscription: Subscription): Queue {
    const { stage, bus: defaultTypes } = this.#props.aws;
    const target = this.#createTarget(name, subscription);
    const dead = this.#createQueue(`${name}-dead`, `lost-${name}`, 'It holds what its rule gave up.');
    const types = subscription.types ?? defaultTypes;
    const rule = new CfnRule(this, name, {
      name: `parley-${stage}-${name}`,
      eventBusName: this.#findBus(name, subscription).eventBusName,
      eventPattern: {
        source: ['parley'],
        ...(!types.includes('*') && { 'detail-type': types.map(toPattern) }),
        ...(subscription.topics && { detail: { capability: subscription.topics.map(toPattern) } }),
      },
      targets: [{ id: 'target', arn: target.arn, roleArn: target.roleArn, deadLetterConfig: { arn: dead.queueArn } }],
    });
    target.permit?.(rule.attrArn);
    permitSend(dead, rule.attrArn);
    return dead;
  }

  #findBus(name: string, { project }: Subscription): EventBus {
    const found = this.#props.buses.find((one) => one.project === project);
    if (!found) throw new Error(`${name} is of the project ${project}, which has no bus`);
    return found.bus;
  }

  #createTarget(name: string, { queue, logGroup, function: lambda, bus }: Subscription): Target {
    if (queue !== undefined) {
      const made = this.#createQueue(`${name}-queue`, `to-${queue}`, 'Whoever reads it says what is too often.');
      return { arn: made.queueArn, permit: (ruleArn) => permitSend(made, ruleArn) };
    }
    if (logGroup !== undefined) return { arn: this.#createLogGroup(name, logGroup) };
    if (lambda !== undefined) {
      const permission = { action: 'lambda:InvokeFunction', functionName: lambda, principal: EVENTS };
      return {
        arn: lambda,
        permit: (sourceArn) => new CfnPermission(this, `${name}-permission`, { ...permission, sourceArn }),
      };
    }
    const role = new Role(this, `${name}-role`, { assumedBy: new ServicePrincipal(EVENTS) });
    role.addToPolicy(new PolicyStatement({ actions: ['events:PutEvents'], resources: [String(bus)] }));
    return { arn: String(bus), roleArn: role.roleArn };
  }

  #createQueue(id: string, name: string, reason: string): Queue {
    const { aws, key } = this.#props;
    const queue = createQueue(this, id, key, { queueName: `parley-${aws.stage}-${name}` });
    Validations.of(queue).acknowledge({ id: 'AwsSolutions-SQS3', reason });
    return queue;
  }

  /** The log service asks a policy of the account, which has ten at most: so one for each log group that is named. */
  #createLogGroup(name: string, logGroup: string): string {
    const { aws, key, logRemoval } = this.#props;
    const log = new LogGroup(this, `${name}-log`, {
      logGroupName: `/aws/events/parley-${aws.stage}/${logGroup}`,
      retention: aws.logDays,
      encryptionKey: key,
      removalPolicy: logRemoval,
    });
    const statement = {
      Effect: 'Allow',
      Principal: { Service: [EVENTS, 'delivery.logs.amazonaws.com'] },
      Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      Resource: log.logGroupArn,
    };
    new CfnResourcePolicy(this, `${name}-log-policy`, {
      policyName: `parley-${aws.stage}-events-${logGroup}`,
      policyDocument: Stack.of(this).toJsonString({ Version: '2012-10-17', Statement: [statement] }),
    });
    return `arn:${Aws.PARTITION}:logs:${Aws.REGION}:${Aws.ACCOUNT_ID}:log-group:${log.logGroupName}`;
  }
}

const permitSend = (queue: Queue, ruleArn: string): void => {
  queue.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal(EVENTS)],
      actions: ['sqs:SendMessage'],
      resources: [queue.queueArn],
      conditions: { ArnEquals: { 'aws:SourceArn': ruleArn } },
    }),
  );
};

const toPattern = (wanted: string): string | { prefix: string } =>
  wanted.endsWith('*') ? { prefix: wanted.slice(0, -1) } : wanted;
