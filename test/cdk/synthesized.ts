import type { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { z } from 'zod';
import { DEFAULT_ROUTE_FUNCTION, ROUTES } from '../../cdk/function-specs.ts';
import { createParleyApp } from '../../cdk/parley-app.ts';
import type { DeployTarget } from '../../cdk/parley-stack.ts';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import { defineConfig } from '../../shared/config/config.ts';

const Resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  DependsOn: z.array(z.string()).default([]),
});
const TemplateShape = z.object({
  Resources: z.record(z.string(), Resource),
  Outputs: z.record(z.string(), z.object({ Value: z.unknown() })).default({}),
});

export interface Found<T> {
  id: string;
  deletionPolicy?: string;
  properties: T;
}

export interface Synthesized {
  template: z.output<typeof TemplateShape>;
  /** All resources of a type, each with those of its properties that the test is about. */
  all: <T>(type: string, properties: z.ZodType<T>) => Found<T>[];
}

type AwsInput = z.input<typeof AwsConfig>;

const domain = { description: '' };
export const PROJECTS = {
  default: { domains: { security: domain, home: domain }, relay: true },
  lab: { domains: { research: domain } },
};

/** No stack test looks into a bundle. */
const code = () => Code.fromInline('export const handler = () => {};');

export const appOf = (aws: Partial<AwsInput> = {}, target?: DeployTarget) =>
  createParleyApp({
    config: defineConfig({ projects: PROJECTS, aws: { stage: 'test', ...aws } }),
    code,
    target,
  });

const known = new Map<string, Synthesized>();

/** The template for a configuration, made once. */
export const synthesized = (aws: Partial<AwsInput> = {}, target?: DeployTarget): Synthesized => {
  const name = JSON.stringify({ aws, target });
  const found = known.get(name) ?? synthesize(aws, target);
  known.set(name, found);
  return found;
};

const synthesize = (aws: Partial<AwsInput>, target?: DeployTarget): Synthesized => templateOf(appOf(aws, target).stack);

export const templateOf = (stack: Stack): Synthesized => {
  const template = TemplateShape.parse(Template.fromStack(stack).toJSON());
  return {
    template,
    all: (type, properties) =>
      Object.entries(template.Resources)
        .filter(([, resource]) => resource.Type === type)
        .map(([id, { Properties, DeletionPolicy }]) => ({
          id,
          deletionPolicy: DeletionPolicy,
          properties: properties.parse(Properties),
        })),
  };
};

/** `{"Fn::GetAtt": ["Queue", "Arn"]}` or `{"Ref": "Queue"}` as the logical id of what it points to. */
export const Reference = z.union([
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((value) => value['Fn::GetAtt'][0]),
  z.object({ Ref: z.string() }).transform((value) => value.Ref),
]);

/** The functions that some route leads to. */
export const HTTP_FUNCTIONS = new Set([...ROUTES.map(({ to }) => to), DEFAULT_ROUTE_FUNCTION]);
