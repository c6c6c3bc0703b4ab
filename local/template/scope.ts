import { holds, NO_VALUE, resolved, type Scope, Unresolvable } from './intrinsics.ts';
import type { Kind, Site } from './kind.ts';
import { KINDS } from './kinds/kinds.ts';
import type { RawResource, Template } from './template.ts';
import { notKnown } from './template-error.ts';

/** The name that the template gives, or one made from the logical id. */
export const nameOf = (logicalId: string, raw: RawResource, kind: Kind, scope: Scope, site: Site): string => {
  const given = kind.nameProperty === undefined ? undefined : raw.Properties[kind.nameProperty];
  const chosen = given === undefined ? NO_VALUE : resolved(given, scope);
  if (typeof chosen === 'string') return chosen;
  return kind.madeName?.(logicalId, site, raw.Properties) ?? `${site.stackName}-${logicalId}`;
};

/** What the functions of a template can refer to: its resources, parameters, conditions and mappings. */
export const scopeOf = (template: Template, site: Site): Scope => {
  const pseudo: Record<string, unknown> = {
    'AWS::Region': site.region,
    'AWS::AccountId': site.account,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::StackName': site.stackName,
    'AWS::StackId': `arn:aws:cloudformation:${site.region}:${site.account}:stack/${site.stackName}/local`,
    'AWS::NoValue': NO_VALUE,
  };
  const named = (logicalId: string) => {
    const raw = template.Resources[logicalId];
    const kind = raw && KINDS.get(raw.Type);
    if (!raw) throw new Unresolvable(`there is no resource ${logicalId}`);
    if (!kind) throw new Unresolvable(notKnown(`${logicalId}, which is a ${raw.Type},`));
    return { kind, raw, named: { logicalId, site, name: nameOf(logicalId, raw, kind, scope, site) } };
  };
  const scope: Scope = {
    ref: (name) => {
      if (name in pseudo) return pseudo[name];
      if (name.startsWith('AWS::')) throw new Unresolvable(notKnown(`the pseudo parameter ${name}`));
      const parameter = template.Parameters[name];
      if (parameter?.Default !== undefined) return parameter.Default;
      if (parameter) throw new Unresolvable(`the parameter ${name} has no default, and the local runner asks nobody`);
      const { kind, named: known } = named(name);
      return kind.ref(known);
    },
    attribute: (logicalId, attribute) => {
      const { kind, raw, named: known } = named(logicalId);
      const of = kind.attributes[attribute];
      if (!of) throw new Unresolvable(notKnown(`the attribute ${attribute} of ${raw.Type}`));
      return of(known);
    },
    condition: (name) => {
      if (!(name in template.Conditions)) throw new Unresolvable(`there is no condition ${name}`);
      return holds(template.Conditions[name], scope);
    },
    mapping: (map, key, second) => {
      const value = template.Mappings[map]?.[key]?.[second];
      if (value === undefined) throw new Unresolvable(`the mapping ${map} has no ${key}.${second}`);
      return value;
    },
  };
  return scope;
};
