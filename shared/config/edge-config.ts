import * as z from 'zod';

export const EdgeConfig = z.strictObject({
  rate: z
    .number()
    .int()
    .min(10)
    .default(30_000)
    .describe('The most requests of one address in five minutes. Agents behind one address share it.'),
  managedRules: z
    .array(z.string().regex(/^AWSManagedRules\w+$/, 'must be a rule group of AWS'))
    .default(['AWSManagedRulesAmazonIpReputationList'])
    .describe(
      'Rule groups of AWS. Those that look into bodies refuse tasks about attacks, and bodies above 8 KB: try them in count mode first.',
    ),
  webAclArn: z
    .string()
    .regex(/^arn:aws:wafv2:us-east-1:/, 'must be the ARN of a web ACL for CloudFront, which is in us-east-1')
    .optional()
    .describe('A firewall that exists, instead. Outside of us-east-1 the stack cannot make one.'),
  domain: z
    .strictObject({
      name: z.hostname().describe('The host name of the API.'),
      certificateArn: z
        .string()
        .regex(/^arn:aws:acm:us-east-1:/, 'must be the ARN of a certificate in us-east-1')
        .describe('The ARN of its ACM certificate, in us-east-1.'),
    })
    .optional()
    .describe('A custom domain. `aws.domain` is for an API without CloudFront.'),
});
export type EdgeConfig = z.output<typeof EdgeConfig>;
