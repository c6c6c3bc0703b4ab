import type { z } from 'zod';

/** Where a stack is deployed, as far as its names and ARNs show it. */
export interface ResourceContext {
  region: string;
  account: string;
  stackName: string;
  /** The local address that stands for the one a service would give a resource, such as an API's. */
  getAddress(logicalId: string): string;
}

/** A resource under its physical name. */
export interface Named {
  logicalId: string;
  name: string;
  site: ResourceContext;
}

type Attribute = (named: Named) => string;

/** A resource type that the local runner knows: its properties, its name, and what Ref and Fn::GetAtt give. */
export interface ResourceType<S extends z.ZodType = z.ZodType> {
  type: string;
  properties: S;
  /** The property that names it; without one, a name is made from the logical id. */
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

/** A kind of which nothing but its name is ever asked. */
export const defineResourceType = <S extends z.ZodType>(
  type: string,
  properties: S,
  rest: Partial<Omit<ResourceType, 'type' | 'properties'>> = {},
): ResourceType<S> => ({ type, properties, ref: getPhysicalName, attributes: {}, ...rest });
