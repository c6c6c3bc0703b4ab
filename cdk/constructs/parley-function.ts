import { Duration } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  ApplicationLogLevel,
  Architecture,
  type Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { FunctionEnv } from '../../functions/runtime/env.ts';
import { FUNCTIONS, type FunctionName, type FunctionSpec } from '../function-specs.ts';
import { type FunctionResources, grantAccess } from './grant-access.ts';
import { METRIC_NAMESPACE } from './parley-metrics.ts';

export interface ParleyFunctionProps {
  stage: string;
  name: FunctionName;
  code: Code;
  env: FunctionEnv & Record<string, string>;
  logDays: number;
  resources: FunctionResources;
  hasAlias: boolean;
}

export class ParleyFunction extends Construct {
  readonly lambda: LambdaFunction;
  /** With canaries: the calls of agents go through it. */
  readonly alias: Alias | undefined;
  readonly role: Role;

  constructor(scope: Construct, props: ParleyFunctionProps) {
    super(scope, props.name);
    const spec: FunctionSpec = FUNCTIONS[props.name];
    const functionName = `parley-${props.stage}-${props.name}`;
    const log = new LogGroup(this, 'Log', {
      logGroupName: `/aws/lambda/${functionName}`,
      retention: props.logDays,
      encryptionKey: props.resources.key,
      removalPolicy: props.resources.logRemoval,
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.role.addToPolicy(
      new PolicyStatement({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [log.logGroupArn] }),
    );
    grantAccess(this.role, spec.access, props.resources);
    this.lambda = new LambdaFunction(this, 'Function', {
      functionName,
      code: props.code,
      handler: 'index.handler',
      role: this.role,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: spec.memoryMB,
      timeout: Duration.seconds(spec.timeoutS),
      // Parley propagates and logs `traceparent` itself. X-Ray costs more than the call and needs a grant on `*`.
      tracing: Tracing.DISABLED,
      logGroup: log,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      // Three lines of Lambda's own an invocation tell what its metrics tell.
      systemLogLevelV2: SystemLogLevel.WARN,
      environment: {
        ...props.env,
        POWERTOOLS_SERVICE_NAME: props.name,
        POWERTOOLS_METRICS_NAMESPACE: METRIC_NAMESPACE,
      },
    });
    this.alias = props.hasAlias
      ? new Alias(this, 'Alias', { aliasName: 'live', version: this.lambda.currentVersion })
      : undefined;
  }
}
