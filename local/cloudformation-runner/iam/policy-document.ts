import { z } from 'zod';
import { unknownResourceIssue } from '../template-error.ts';
import { matchesGlob } from './glob.ts';

const oneOrMore = z.union([z.string().transform((one) => [one]), z.array(z.string())]);

interface CallContext {
  /** Always true on AWS, where functions call over TLS. */
  'aws:SecureTransport': 'true';
  's3:TlsVersion': '1.3';
  'aws:SourceArn'?: string;
  'aws:SourceAccount'?: string;
}
const CONTEXT_KEYS: readonly string[] = ['aws:SecureTransport', 's3:TlsVersion', 'aws:SourceArn', 'aws:SourceAccount'];

const OPERATORS: Record<string, (wanted: string, actual: string) => boolean> = {
  Bool: (wanted, actual) => wanted === actual,
  StringEquals: (wanted, actual) => wanted === actual,
  StringLike: matchesGlob,
  ArnEquals: matchesGlob,
  ArnLike: matchesGlob,
  NumericLessThan: (wanted, actual) => Number(actual) < Number(wanted),
};

const conditionValue = z.union([z.union([z.boolean(), z.number()]).transform((one) => [String(one)]), oneOrMore]);

const Condition = z.record(z.string(), z.record(z.string(), conditionValue)).superRefine((condition, context) => {
  for (const [operator, keys] of Object.entries(condition)) {
    if (!(operator in OPERATORS)) context.addIssue(unknownResourceIssue(`the condition operator ${operator}`));
    for (const key of Object.keys(keys)) {
      if (!CONTEXT_KEYS.includes(key)) context.addIssue(unknownResourceIssue(`the condition key ${key}`));
    }
  }
});

/** A wildcard elsewhere than at the end matches more than it seems to. */
const resourcePattern = z.string().refine((pattern) => !pattern.slice(0, -1).includes('*'), {
  error: ({ input }) => unknownResourceIssue(`a wildcard that is not at the end, as in ${String(input)},`),
});

const Statement = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore,
  Resource: oneOrMore.pipe(z.array(resourcePattern)).default([]),
  Principal: z
    .union([z.literal('*'), z.strictObject({ Service: oneOrMore.optional(), AWS: oneOrMore.optional() })])
    .optional(),
  Condition: Condition.optional(),
});
export type Statement = z.output<typeof Statement>;

export const PolicyDocument = z.strictObject({
  Version: z.literal('2012-10-17'),
  Statement: z.array(Statement),
  Id: z.string().optional(),
});

export const OVER_TLS = { 'aws:SecureTransport': 'true', 's3:TlsVersion': '1.3' } as const satisfies CallContext;

/** IAM: all operators and keys must match, and one value of each key. */
export const isConditionMet = (condition: Statement['Condition'], context: CallContext): boolean =>
  Object.entries(condition ?? {}).every(([operator, keys]) =>
    Object.entries(keys).every(([key, values]) => {
      const actual = Object.entries(context).find(([name]) => name === key)?.[1];
      return typeof actual === 'string' && values.some((wanted) => OPERATORS[operator]?.(wanted, actual));
    }),
  );

export const appliesToService = (statement: Statement, service: string): boolean =>
  statement.Principal === '*' ||
  (statement.Principal?.Service?.includes(service) ?? false) ||
  (statement.Principal?.AWS?.includes('*') ?? false);
