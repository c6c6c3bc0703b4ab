import { z } from 'zod';

/** What a test changes in the template, so that it need not wait as long as an account does. */
export interface Changes {
  /** Of functions, by the end of their name, in seconds. */
  timeouts?: Record<string, number>;
  /** How often a batch of the stream is tried again. */
  streamRetries?: number;
  /** Of every function, beside its own. */
  environment?: Record<string, string>;
}

const Properties = z.looseObject({
  FunctionName: z.unknown().optional(),
  BisectBatchOnFunctionError: z.boolean().optional(),
  Environment: z.looseObject({ Variables: z.record(z.string(), z.unknown()) }).optional(),
});
const Template = z.looseObject({
  Resources: z.record(z.string(), z.looseObject({ Type: z.string(), Properties: Properties.optional() })),
});

export const changedTemplate = (template: unknown, { timeouts = {}, streamRetries, environment }: Changes): unknown => {
  const changed = Template.parse(template);
  for (const { Type: type, Properties: properties } of Object.values(changed.Resources)) {
    if (!properties) continue;
    const [, seconds] =
      Object.entries(timeouts).find(([name]) => String(properties.FunctionName).endsWith(`-${name}`)) ?? [];
    if (type === 'AWS::Lambda::Function' && seconds !== undefined) properties.Timeout = seconds;
    if (type === 'AWS::Lambda::Function' && properties.Environment)
      Object.assign(properties.Environment.Variables, environment);
    const readsStream = type === 'AWS::Lambda::EventSourceMapping' && properties.BisectBatchOnFunctionError;
    if (readsStream && streamRetries !== undefined) properties.MaximumRetryAttempts = streamRetries;
  }
  return changed;
};
