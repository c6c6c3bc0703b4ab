import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Gateway } from '../gateway/gateway.ts';
import type { ResourceGraph } from '../graph.ts';
import type { RoleAccess } from '../iam/role-access.ts';
import { canAssume } from '../iam/roles.ts';
import { LambdaFunctionType as FunctionKind } from '../resources/compute.ts';
import { ConcurrencyPool } from './concurrency-pool.ts';
import { LambdaFunction } from './lambda-function.ts';

export interface PlannedFunction {
  logicalId: string;
  name: string;
  arn: string;
  folder: string;
  access: RoleAccess;
  accessKey: string;
  properties: ReturnType<typeof FunctionKind.properties.parse>;
}

export const parseFunctions = (
  plan: ResourceGraph,
  roles: ReadonlyMap<string, RoleAccess>,
  assets: string,
): PlannedFunction[] =>
  plan.listResources(FunctionKind).flatMap(({ logicalId, name, attributes, metadata, properties }) => {
    const asset = metadata['aws:asset:path'];
    const folder = resolve(assets, typeof asset === 'string' ? asset : '');
    if (typeof asset !== 'string' || !existsSync(folder)) {
      plan.mistakes.add(logicalId, `there is no bundle at ${folder}: synthesize again`);
    }
    const access = roles.get(properties.Role);
    if (!access || !canAssume(plan, properties.Role, 'lambda.amazonaws.com')) {
      plan.mistakes.add(logicalId, `Lambda may not assume the role ${properties.Role}`);
    }
    if (!access) return [];
    const accessKey = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`;
    return [{ logicalId, name, arn: attributes.Arn ?? '', folder, access, accessKey, properties }];
  });

interface FunctionRuntimeResources {
  plan: ResourceGraph;
  gateway: Gateway;
  gatewayAddress: string;
  logs: string;
  /** Of the functions without a reservation. */
  shared: ConcurrencyPool;
  onFailure(line: string): void;
}

export const runFunction = (planned: PlannedFunction, resources: FunctionRuntimeResources): LambdaFunction => {
  const { name, arn, folder, access, accessKey, properties } = planned;
  const { gateway, logs, shared, onFailure } = resources;
  const reserved = properties.ReservedConcurrentExecutions;
  gateway.addCaller(accessKey, { name, access });
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  const file = createWriteStream(join(logs, `${name}.log`), { flags: 'a', mode: 0o600 });
  return new LambdaFunction({
    data: {
      folder,
      handler: properties.Handler,
      functionName: name,
      functionArn: arn,
      memoryMb: properties.MemorySize,
    },
    env: buildEnvironment(planned, resources),
    timeoutMs: properties.Timeout * 1000,
    concurrency: reserved === undefined ? shared : new ConcurrencyPool(reserved),
    meter: gateway.meter,
    log: (text) => file.write(text),
    onFailure,
  });
};

const buildEnvironment = (planned: PlannedFunction, { plan, gatewayAddress }: FunctionRuntimeResources) => {
  const { name, folder, accessKey, properties } = planned;
  const { region } = plan.site;
  const own = Object.entries(properties.Environment?.Variables ?? {});
  return {
    // The SDK takes the host from the queue URL, so the URL must point to the gateway.
    ...Object.fromEntries(
      own.map(([key, value]) => [key, value.replace(`https://sqs.${region}.amazonaws.com/`, `${gatewayAddress}/`)]),
    ),
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    AWS_ENDPOINT_URL: gatewayAddress,
    AWS_EXECUTION_ENV: `AWS_Lambda_${properties.Runtime}`,
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(properties.MemorySize),
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_FORMAT: properties.LoggingConfig.LogFormat ?? 'Text',
    AWS_LAMBDA_LOG_GROUP_NAME: properties.LoggingConfig.LogGroup ?? `/aws/lambda/${name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    LAMBDA_TASK_ROOT: folder,
    LAMBDA_RUNTIME_DIR: '/var/runtime',
    TZ: ':UTC',
    _HANDLER: properties.Handler,
  };
};
