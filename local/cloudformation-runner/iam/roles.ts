import type { ResourceGraph } from '../graph.ts';
import { ManagedPolicy, Policy, Role } from '../resources/permissions.ts';
import { unknownResourceIssue } from '../template-error.ts';
import { MANAGED_POLICIES } from './managed-policies.ts';
import { RoleAccess } from './role-access.ts';

export const loadRoles = (plan: ResourceGraph): Map<string, RoleAccess> => {
  const policies = plan.listResources(Policy);
  const managed = plan.listResources(ManagedPolicy);
  const roles = plan.listResources(Role).map(({ logicalId, name, attributes, properties }) => {
    const attached = properties.ManagedPolicyArns.map((arn) => {
      const own = managed.find((policy) => policy.attributes.PolicyArn === arn)?.properties.PolicyDocument.Statement;
      const known = own ?? MANAGED_POLICIES[arn];
      if (!known) plan.mistakes.add(logicalId, unknownResourceIssue(`the managed policy ${arn}`));
      return known ?? [];
    });
    const statements = [
      ...properties.Policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement),
      ...[...policies, ...managed]
        .filter((policy) => policy.properties.Roles.includes(name))
        .flatMap((policy) => policy.properties.PolicyDocument.Statement),
      ...attached.flat(),
    ];
    return [attributes.Arn ?? '', new RoleAccess(name, statements)] as const;
  });
  return new Map(roles);
};

export const canAssume = (plan: ResourceGraph, roleArn: string, service: string): boolean =>
  plan
    .listResources(Role)
    .filter(({ attributes }) => attributes.Arn === roleArn)
    .some(({ properties }) =>
      properties.AssumeRolePolicyDocument.Statement.some(
        ({ Effect, Action, Principal }) =>
          Effect === 'Allow' &&
          Action.includes('sts:AssumeRole') &&
          typeof Principal === 'object' &&
          Principal.Service?.includes(service),
      ),
    );
