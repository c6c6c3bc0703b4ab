import { evaluateTemplateCondition, NO_VALUE, resolveIntrinsics, type Scope, UnresolvableError } from './intrinsics.ts';
import type { ResourceContext, ResourceType } from './resource-type.ts';
import { RESOURCE_TYPES } from './resources/resource-types.ts';
import type { RawResource, Template } from './template.ts';
import { unknownResourceIssue } from './template-error.ts';

export const buildPhysicalName = (
  logicalId: string,
  raw: RawResource,
  kind: ResourceType,
  scope: Scope,
  site: ResourceContext,
): string => {
  const given = kind.nameProperty === undefined ? undefined : raw.Properties[kind.nameProperty];
  const chosen = given === undefined ? NO_VALUE : resolveIntrinsics(given, scope);
  if (typeof chosen === 'string') return chosen;
  return kind.madeName?.(logicalId, site, raw.Properties) ?? `${site.stackName}-${logicalId}`;
};

export const createScope = (template: Template, site: ResourceContext): Scope => {
  const pseudo: Record<string, unknown> = {
    'AWS::Region': site.region,
    'AWS::AccountId': site.account,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': site.stackName,
    'AWS::StackId': `arn:aws:cloudformation:${site.region}:${site.account}:stack/${site.stackName}/local`,
    'AWS::NoValue': NO_VALUE,
  };
  const findNamed = (logicalId: string) => {
    const raw = template.Resources[logicalId];
    const kind = raw && RESOURCE_TYPES.get(raw.Type);
    if (!raw) throw new UnresolvableError(`there is no resource ${logicalId}`);
    if (!kind) throw new UnresolvableError(unknownResourceIssue(`${logicalId}, which is a ${raw.Type},`));
    return { kind, raw, named: { logicalId, site, name: buildPhysicalName(logicalId, raw, kind, scope, site) } };
  };
  const scope: Scope = {
    resolveRef: (name) => {
      if (name in pseudo) return pseudo[name];
      if (name.startsWith('AWS::')) throw new UnresolvableError(unknownResourceIssue(`the pseudo parameter ${name}`));
      const parameter = template.Parameters[name];
      if (parameter?.Default !== undefined) return parameter.Default;
      if (parameter)
        throw new UnresolvableError(`the parameter ${name} has no default, and the local runner asks nobody`);
      const { kind, named: known } = findNamed(name);
      return kind.ref(known);
    },
    resolveAttribute: (logicalId, attribute) => {
      const { kind, raw, named: known } = findNamed(logicalId);
      const of = kind.attributes[attribute];
      if (!of) throw new UnresolvableError(unknownResourceIssue(`the attribute ${attribute} of ${raw.Type}`));
      return of(known);
    },
    resolveCondition: (name) => {
      if (!(name in template.Conditions)) throw new UnresolvableError(`there is no condition ${name}`);
      return evaluateTemplateCondition(template.Conditions[name], scope);
    },
    resolveMapping: (map, key, second) => {
      const value = template.Mappings[map]?.[key]?.[second];
      if (value === undefined) throw new UnresolvableError(`the mapping ${map} has no ${key}.${second}`);
      return value;
    },
  };
  return scope;
};
