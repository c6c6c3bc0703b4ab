import type { z } from 'zod';
import { NO_VALUE, resolveIntrinsics, type Scope, UnresolvableError } from './intrinsics.ts';
import type { ResourceContext, ResourceType } from './resource-type.ts';
import { RESOURCE_TYPES } from './resources/resource-types.ts';
import { buildPhysicalName, createScope } from './scope.ts';
import { type RawResource, Template } from './template.ts';
import { TemplateIssues, unknownResourceIssue } from './template-error.ts';

export interface Resource<Properties> {
  logicalId: string;
  name: string;
  ref: string;
  attributes: Record<string, string>;
  metadata: Record<string, unknown>;
  properties: Properties;
}

export interface ResourceGraph {
  site: ResourceContext;
  mistakes: TemplateIssues;
  listResources<S extends z.ZodType>(kind: ResourceType<S>): Resource<z.output<S>>[];
  resolveOutputs(): Record<string, unknown>;
}

/** Collects mistakes in `mistakes`, never throws. */
export const buildResourceGraph = (source: unknown, site: ResourceContext): ResourceGraph => {
  const mistakes = new TemplateIssues();
  const template = parseTemplate(source, mistakes);
  const scope = createScope(template, site);
  const isConditionTrue = ({ Condition }: { Condition?: string | undefined }): boolean =>
    Condition === undefined || scope.resolveCondition(Condition);

  const resources = Object.entries(template.Resources)
    .filter(([, raw]) => isConditionTrue(raw))
    .flatMap(([logicalId, raw]) => {
      const kind = RESOURCE_TYPES.get(raw.Type);
      if (!kind) {
        mistakes.add(logicalId, unknownResourceIssue(raw.Type));
        return [];
      }
      const properties = parseProperties(logicalId, kind, raw, scope, mistakes);
      return properties ? [{ logicalId, kind, raw, properties }] : [];
    });

  return {
    site,
    mistakes,
    listResources: (kind) =>
      resources
        .filter((resource) => resource.kind.type === kind.type)
        .map(({ logicalId, raw, properties }) => {
          const named = { logicalId, site, name: buildPhysicalName(logicalId, raw, kind, scope, site) };
          return {
            logicalId,
            name: named.name,
            ref: kind.ref(named),
            attributes: Object.fromEntries(Object.entries(kind.attributes).map(([key, of]) => [key, of(named)])),
            metadata: raw.Metadata ?? {},
            properties: kind.properties.parse(properties),
          };
        }),
    resolveOutputs: () =>
      Object.fromEntries(
        Object.entries(template.Outputs)
          .filter(([, output]) => isConditionTrue(output))
          .map(([key, { Value }]) => [key, resolveIntrinsics(Value, scope)]),
      ),
  };
};

const parseTemplate = (source: unknown, mistakes: TemplateIssues): Template => {
  const parsed = Template.safeParse(source);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) mistakes.add('template', formatIssue('a template', issue));
  mistakes.throwIfAny();
  throw parsed.error;
};

/** Per property, so that an unresolved one hides no mistake in the others. */
const parseProperties = (
  logicalId: string,
  kind: ResourceType,
  raw: RawResource,
  scope: Scope,
  mistakes: TemplateIssues,
): Record<string, unknown> | undefined => {
  const properties: Record<string, unknown> = {};
  const unresolved = new Set<string>();
  for (const [key, value] of Object.entries(raw.Properties)) {
    try {
      const result = resolveIntrinsics(value, scope);
      if (result !== NO_VALUE) properties[key] = result;
    } catch (error) {
      if (!(error instanceof UnresolvableError)) throw error;
      mistakes.add(logicalId, `${key}: ${error.message}`);
      unresolved.add(key);
    }
  }
  const parsed = kind.properties.safeParse(properties);
  const issues = parsed.error?.issues.filter(({ path }) => !unresolved.has(String(path[0]))) ?? [];
  for (const issue of issues) mistakes.add(logicalId, formatIssue(raw.Type, issue));
  return unresolved.size === 0 && parsed.success ? properties : undefined;
};

const formatIssue = (type: string, issue: z.core.$ZodIssue): string => {
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => (at ? `${at}.${key}` : key)).join(', ');
    return unknownResourceIssue(`the property ${names} of ${type}`);
  }
  return `${at || type}: ${issue.message}`;
};
