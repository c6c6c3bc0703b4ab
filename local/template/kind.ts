import type { z } from 'zod';

/** Where a stack is deployed, as far as its names and ARNs show it. */
export interface Site {
  region: string;
  account: string;
  stackName: string;
  /** The local address that stands for the one a service would give a resource, such as an API's. */
  addressOf(logicalId: string): string;
}

/** A resource under its physical name. */
export interface Named {
  logicalId: string;
  name: string;
  site: Site;
}

type Attribute = (named: Named) => string;

/** A resource type that the local runner knows: its properties, its name, and what Ref and Fn::GetAtt give. */
export interface Kind<S extends z.ZodType = z.ZodType> {
  type: string;
  properties: S;
  /** The property that names it; without one, a name is made from the logical id. */
  nameProperty?: string;
  madeName?: (logicalId: string, site: Site, properties: Record<string, unknown>) => string;
  ref: Attribute;
  attributes: Record<string, Attribute>;
}

export const arn =
  (service: string, resource: (name: string) => string): Attribute =>
  ({ name, site }) =>
    `arn:aws:${service}:${site.region}:${site.account}:${resource(name)}`;

export const itsName: Attribute = ({ name }) => name;

/** A kind of which nothing but its name is ever asked. */
export const kind = <S extends z.ZodType>(
  type: string,
  properties: S,
  rest: Partial<Omit<Kind, 'type' | 'properties'>> = {},
): Kind<S> => ({ type, properties, ref: itsName, attributes: {}, ...rest });
