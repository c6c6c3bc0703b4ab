import type { z } from 'zod';

export interface ResourceContext {
  region: string;
  account: string;
  stackName: string;
  getAddress(logicalId: string): string;
}

export interface Named {
  logicalId: string;
  name: string;
  site: ResourceContext;
}

type Attribute = (named: Named) => string;

export interface ResourceType<S extends z.ZodType = z.ZodType> {
  type: string;
  properties: S;
  nameProperty?: string;
  madeName?: (logicalId: string, site: ResourceContext, properties: Record<string, unknown>) => string;
  ref: Attribute;
  attributes: Record<string, Attribute>;
}

export const buildArn =
  (service: string, resource: (name: string) => string): Attribute =>
  ({ name, site }) =>
    `arn:aws:${service}:${site.region}:${site.account}:${resource(name)}`;

export const getPhysicalName: Attribute = ({ name }) => name;

export const defineResourceType = <S extends z.ZodType>(
  type: string,
  properties: S,
  rest: Partial<Omit<ResourceType, 'type' | 'properties'>> = {},
): ResourceType<S> => ({ type, properties, ref: getPhysicalName, attributes: {}, ...rest });
