import type { z } from 'zod';
import { NO_VALUE, resolved, type Scope, Unresolvable } from './intrinsics.ts';
import type { Kind, Site } from './kind.ts';
import { KINDS } from './kinds/kinds.ts';
import { nameOf, scopeOf } from './scope.ts';
import { type RawResource, Template } from './template.ts';
import { Mistakes, notKnown } from './template-error.ts';

/** A resource with its properties checked, its name, and what Fn::GetAtt says of it. */
export interface Resource<Properties> {
  logicalId: string;
  name: string;
  ref: string;
  attributes: Record<string, string>;
  metadata: Record<string, unknown>;
  properties: Properties;
}

/** The template with every reference resolved: what is to be run. */
export interface Plan {
  site: Site;
  mistakes: Mistakes;
  all<S extends z.ZodType>(kind: Kind<S>): Resource<z.output<S>>[];
  outputs(): Record<string, unknown>;
}

/** Reads a template and finds all that is wrong with it: `mistakes` has it, and nothing is thrown. */
export const planOf = (source: unknown, site: Site): Plan => {
  const mistakes = new Mistakes();
  const template = parsedTemplate(source, mistakes);
  const scope = scopeOf(template, site);
  const isThere = ({ Condition }: { Condition?: string | undefined }): boolean =>
    Condition === undefined || scope.condition(Condition);

  const resources = Object.entries(template.Resources)
    .filter(([, raw]) => isThere(raw))
    .flatMap(([logicalId, raw]) => {
      const kind = KINDS.get(raw.Type);
      if (!kind) {
        mistakes.add(logicalId, notKnown(raw.Type));
        return [];
      }
      const properties = checkedProperties(logicalId, kind, raw, scope, mistakes);
      return properties ? [{ logicalId, kind, raw, properties }] : [];
    });

  return {
    site,
    mistakes,
    all: (kind) =>
      resources
        .filter((resource) => resource.kind.type === kind.type)
        .map(({ logicalId, raw, properties }) => {
          const named = { logicalId, site, name: nameOf(logicalId, raw, kind, scope, site) };
          return {
            logicalId,
            name: named.name,
            ref: kind.ref(named),
            attributes: Object.fromEntries(Object.entries(kind.attributes).map(([key, of]) => [key, of(named)])),
            metadata: raw.Metadata ?? {},
            properties: kind.properties.parse(properties),
          };
        }),
    outputs: () =>
      Object.fromEntries(
        Object.entries(template.Outputs)
          .filter(([, output]) => isThere(output))
          .map(([key, { Value }]) => [key, resolved(Value, scope)]),
      ),
  };
};

const parsedTemplate = (source: unknown, mistakes: Mistakes): Template => {
  const parsed = Template.safeParse(source);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) mistakes.add('template', issueText('a template', issue));
  mistakes.throwIfAny();
  throw parsed.error;
};

/** Property by property, so that one that cannot be resolved hides no mistake in the others. */
const checkedProperties = (
  logicalId: string,
  kind: Kind,
  raw: RawResource,
  scope: Scope,
  mistakes: Mistakes,
): Record<string, unknown> | undefined => {
  const properties: Record<string, unknown> = {};
  const unresolved = new Set<string>();
  for (const [key, value] of Object.entries(raw.Properties)) {
    try {
      const result = resolved(value, scope);
      if (result !== NO_VALUE) properties[key] = result;
    } catch (error) {
      if (!(error instanceof Unresolvable)) throw error;
      mistakes.add(logicalId, `${key}: ${error.message}`);
      unresolved.add(key);
    }
  }
  const parsed = kind.properties.safeParse(properties);
  const issues = parsed.error?.issues.filter(({ path }) => !unresolved.has(String(path[0]))) ?? [];
  for (const issue of issues) mistakes.add(logicalId, issueText(raw.Type, issue));
  return unresolved.size === 0 && parsed.success ? properties : undefined;
};

const issueText = (type: string, issue: z.core.$ZodIssue): string => {
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => (at ? `${at}.${key}` : key)).join(', ');
    return notKnown(`the property ${names} of ${type}`);
  }
  return `${at || type}: ${issue.message}`;
};
