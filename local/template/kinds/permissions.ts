import { z } from 'zod';
import { PolicyDocument } from '../access/policy-document.ts';
import { itsName, kind, type Named } from '../kind.ts';

const noEffectHere = z.unknown().optional();

const iamArn =
  (what: string) =>
  ({ name, site }: Named): string =>
    `arn:aws:iam::${site.account}:${what}/${name}`;

export const Role = kind(
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
  { nameProperty: 'RoleName', attributes: { Arn: iamArn('role'), RoleId: itsName } },
);

export const Policy = kind(
  'AWS::IAM::Policy',
  z.strictObject({ PolicyName: z.string(), PolicyDocument, Roles: z.array(z.string()).min(1) }),
  { nameProperty: 'PolicyName' },
);

export const ManagedPolicy = kind(
  'AWS::IAM::ManagedPolicy',
  z.strictObject({
    ManagedPolicyName: z.string().optional(),
    PolicyDocument,
    Roles: z.array(z.string()).default([]),
    Description: noEffectHere,
    Path: noEffectHere,
  }),
  { nameProperty: 'ManagedPolicyName', ref: iamArn('policy'), attributes: { PolicyArn: iamArn('policy') } },
);

export const QueuePolicy = kind(
  'AWS::SQS::QueuePolicy',
  z.strictObject({ PolicyDocument, Queues: z.array(z.string()).min(1) }),
);

export const BucketPolicy = kind('AWS::S3::BucketPolicy', z.strictObject({ PolicyDocument, Bucket: z.string() }));
