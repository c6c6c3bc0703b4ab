import { z } from 'zod';

const Values = z.record(z.string(), z.unknown());

const RawResource = z.strictObject({
  Type: z.string(),
  Properties: Values.default({}),
  Condition: z.string().optional(),
  DependsOn: z.unknown().optional(),
  Metadata: Values.optional(),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
export type RawResource = z.output<typeof RawResource>;

export const Template = z.strictObject({
  Resources: z.record(z.string(), RawResource),
  Parameters: z
    .record(z.string(), z.object({ Type: z.string(), Default: z.union([z.string(), z.number()]).optional() }))
    .default({}),
  Conditions: Values.default({}),
  Mappings: z.record(z.string(), z.record(z.string(), Values)).default({}),
  Outputs: z
    .record(
      z.string(),
      z.strictObject({
        Value: z.unknown(),
        Description: z.string().optional(),
        Export: z.unknown().optional(),
        Condition: z.string().optional(),
      }),
    )
    .default({}),
  /** CDK's only rule checks the bootstrap version, which is irrelevant here. */
  Rules: z.strictObject({ CheckBootstrapVersion: z.unknown().optional() }).optional(),
  AWSTemplateFormatVersion: z.string().optional(),
  Description: z.string().optional(),
  Metadata: z.unknown().optional(),
});
export type Template = z.output<typeof Template>;
