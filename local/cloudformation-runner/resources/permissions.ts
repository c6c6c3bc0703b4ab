import { z } from 'zod';
import { PolicyDocument } from '../iam/policy-document.ts';
import { defineResourceType, getPhysicalName, type Named } from '../resource-type.ts';

const noEffectHere = z.unknown().optional();

const buildIamArn =
  (what: string) =>
  ({ name, site }: Named): string =>
    `arn:aws:iam::${site.account}:${what}/${name}`;

export const Role = defineResourceType(
  'AWS::IAM::Role',
  z.strictObject({
    RoleName: z.string().optional(),
    AssumeRolePolicyDocument: PolicyDocument,
    ManagedPolicyArns: z.array(z.string()).default([]),
    Policies: z.array(z.strictObject({ PolicyName: z.string(), PolicyDocument })).default([]),
    Description: noEffectHere,
    MaxSessionDuration: noEffectHere,
    Path: noEffectHere,
    Tags: noEffectHere,
  }),
  { nameProperty: 'RoleName', attributes: { Arn: buildIamArn('role'), RoleId: getPhysicalName } },
);

export const Policy = defineResourceType(
  'AWS::IAM::Policy',
  z.strictObject({ PolicyName: z.string(), PolicyDocument, Roles: z.array(z.string()).min(1) }),
  { nameProperty: 'PolicyName' },
);

export const ManagedPolicy = defineResourceType(
  'AWS::IAM::ManagedPolicy',
  z.strictObject({
    ManagedPolicyName: z.string().optional(),
    PolicyDocument,
    Roles: z.array(z.string()).default([]),
    Description: noEffectHere,
    Path: noEffectHere,
  }),
  { nameProperty: 'ManagedPolicyName', ref: buildIamArn('policy'), attributes: { PolicyArn: buildIamArn('policy') } },
);

export const QueuePolicy = defineResourceType(
  'AWS::SQS::QueuePolicy',
  z.strictObject({ PolicyDocument, Queues: z.array(z.string()).min(1) }),
);

export const BucketPolicy = defineResourceType(
  'AWS::S3::BucketPolicy',
  z.strictObject({ PolicyDocument, Bucket: z.string() }),
);
