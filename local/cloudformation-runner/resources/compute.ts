import { z } from 'zod';
import { buildArn, defineResourceType, getPhysicalName } from '../resource-type.ts';

const noEffectHere = z.unknown().optional();

export const LambdaFunctionType = defineResourceType(
  'AWS::Lambda::Function',
  z.strictObject({
    FunctionName: z.string().optional(),
    Code: z.strictObject({ S3Bucket: z.string(), S3Key: z.string(), SourceKMSKeyArn: noEffectHere }),
    Handler: z.string().regex(/^[\w./-]+\.\w+$/),
    Runtime: z.enum(['nodejs22.x', 'nodejs24.x']),
    Role: z.string(),
    Timeout: z.number().int().positive().default(3),
    MemorySize: z.number().int().positive().default(128),
    ReservedConcurrentExecutions: z.number().int().nonnegative().optional(),
    Environment: z.strictObject({ Variables: z.record(z.string(), z.string()).default({}) }).optional(),
    Architectures: noEffectHere,
    Description: noEffectHere,
    EphemeralStorage: noEffectHere,
    KmsKeyArn: noEffectHere,
    LoggingConfig: z
      .strictObject({
        LogFormat: z.enum(['JSON', 'Text']).optional(),
        LogGroup: z.string().optional(),
        ApplicationLogLevel: noEffectHere,
        SystemLogLevel: noEffectHere,
      })
      .default({}),
    RecursiveLoop: noEffectHere,
    Tags: noEffectHere,
    TracingConfig: noEffectHere,
  }),
  { nameProperty: 'FunctionName', attributes: { Arn: buildArn('lambda', (name) => `function:${name}`) } },
);

const Filters = z.strictObject({ Filters: z.array(z.strictObject({ Pattern: z.string() })) }).optional();

export const EventSourceMapping = defineResourceType(
  'AWS::Lambda::EventSourceMapping',
  z.strictObject({
    FunctionName: z.string(),
    EventSourceArn: z.string(),
    Enabled: z.boolean().default(true),
    BatchSize: z.number().int().positive().optional(),
    MaximumBatchingWindowInSeconds: z.number().int().nonnegative().default(0),
    FunctionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
    FilterCriteria: Filters,
    ScalingConfig: z.strictObject({ MaximumConcurrency: z.number().int().min(2) }).optional(),
    StartingPosition: z.enum(['TRIM_HORIZON', 'LATEST']).optional(),
    ParallelizationFactor: z.number().int().min(1).max(10).default(1),
    /** -1, Lambda's default, is unlimited. */
    MaximumRetryAttempts: z.number().int().min(-1).max(10_000).default(-1),
    MaximumRecordAgeInSeconds: z.number().int().min(-1).default(-1),
    BisectBatchOnFunctionError: z.boolean().default(false),
    DestinationConfig: z
      .strictObject({ OnFailure: z.strictObject({ Destination: z.string().startsWith('arn:aws:s3:::') }) })
      .optional(),
    KmsKeyArn: noEffectHere,
    MetricsConfig: noEffectHere,
    Tags: noEffectHere,
  }),
  {
    attributes: {
      Id: getPhysicalName,
      EventSourceMappingArn: buildArn('lambda', (name) => `event-source-mapping:${name}`),
    },
  },
);

export const Permission = defineResourceType(
  'AWS::Lambda::Permission',
  z.strictObject({
    Action: z.enum(['lambda:InvokeFunction', 'lambda:InvokeFunctionUrl']),
    FunctionName: z.string(),
    Principal: z.string(),
    SourceArn: z.string().optional(),
    SourceAccount: z.string().optional(),
    FunctionUrlAuthType: z.string().optional(),
    InvokedViaFunctionUrl: z.boolean().optional(),
  }),
);

export const EventInvokeConfig = defineResourceType(
  'AWS::Lambda::EventInvokeConfig',
  z.strictObject({
    FunctionName: z.string(),
    Qualifier: z.literal('$LATEST'),
    MaximumRetryAttempts: z.number().int().min(0).max(2).default(2),
    MaximumEventAgeInSeconds: z.number().int().optional(),
  }),
);

export const FunctionUrl = defineResourceType(
  'AWS::Lambda::Url',
  z.strictObject({
    TargetFunctionArn: z.string(),
    AuthType: z.literal('NONE'),
    InvokeMode: z.literal('BUFFERED').default('BUFFERED'),
    Cors: noEffectHere,
  }),
  {
    attributes: {
      FunctionUrl: ({ logicalId, site }) => `${site.getAddress(logicalId)}/`,
      FunctionArn: getPhysicalName,
    },
  },
);
