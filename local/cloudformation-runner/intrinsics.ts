import { z } from 'zod';
import { unknownResourceIssue } from './template-error.ts';

export interface Scope {
  resolveRef(name: string): unknown;
  resolveAttribute(logicalId: string, attribute: string): unknown;
  resolveCondition(name: string): boolean;
  resolveMapping(map: string, key: string, second: string): unknown;
}

/** `AWS::NoValue` removes the property. */
export const NO_VALUE = Symbol('AWS::NoValue');

export class UnresolvableError extends Error {}

export const resolveIntrinsics = (value: unknown, scope: Scope): unknown => {
  if (Array.isArray(value))
    return value.map((each) => resolveIntrinsics(each, scope)).filter((each) => each !== NO_VALUE);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only && isIntrinsic(only[0])) return evaluateIntrinsic(only[0], only[1], scope);
  return Object.fromEntries(
    entries.map(([key, each]) => [key, resolveIntrinsics(each, scope)]).filter(([, each]) => each !== NO_VALUE),
  );
};

const isIntrinsic = (key: string): boolean => key === 'Ref' || key.startsWith('Fn::');

const evaluateIntrinsic = (name: string, argument: unknown, scope: Scope): unknown => {
  const run = INTRINSICS[name];
  if (!run) throw new UnresolvableError(unknownResourceIssue(name));
  try {
    return run(argument, scope);
  } catch (error) {
    if (error instanceof z.ZodError) throw new UnresolvableError(`${name} is not written as it must be`);
    throw error;
  }
};

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const texts = z.array(text);
const anyThree = z.tuple([z.string(), z.unknown(), z.unknown()]);

const INTRINSICS: Record<string, (argument: unknown, scope: Scope) => unknown> = {
  Ref: (argument, scope) => scope.resolveRef(z.string().parse(argument)),
  'Fn::GetAtt': (argument, scope) => {
    const [id = '', ...attribute] = typeof argument === 'string' ? argument.split('.') : texts.parse(argument);
    return scope.resolveAttribute(id, attribute.join('.'));
  },
  'Fn::Join': (argument, scope) => {
    const [separator, parts] = z.tuple([z.string(), z.unknown()]).parse(argument);
    return texts.parse(resolveIntrinsics(parts, scope)).join(separator);
  },
  'Fn::Select': (argument, scope) => {
    const [index, list] = z.tuple([z.coerce.number(), z.unknown()]).parse(argument);
    const chosen = z.array(z.unknown()).parse(resolveIntrinsics(list, scope))[index];
    if (chosen === undefined) throw new UnresolvableError(`Fn::Select finds no element ${index}`);
    return chosen;
  },
  'Fn::Split': (argument, scope) => {
    const [separator, whole] = z.tuple([z.string(), z.unknown()]).parse(argument);
    return text.parse(resolveIntrinsics(whole, scope)).split(separator);
  },
  'Fn::Sub': (argument, scope) => {
    const [pattern, own] = typeof argument === 'string' ? [argument, {}] : SubWithValues.parse(argument);
    return pattern.replace(/\$\{([^}]*)\}/g, (_, name: string) => substitute(name, own, scope));
  },
  'Fn::If': (argument, scope) => {
    const [name, yes, no] = anyThree.parse(argument);
    return resolveIntrinsics(scope.resolveCondition(name) ? yes : no, scope);
  },
  'Fn::FindInMap': (argument, scope) => {
    const [map, key, second] = texts.length(3).parse(resolveIntrinsics(argument, scope));
    return scope.resolveMapping(map ?? '', key ?? '', second ?? '');
  },
  'Fn::GetAZs': (_, scope) => ['a', 'b', 'c'].map((zone) => `${scope.resolveRef('AWS::Region')}${zone}`),
  'Fn::ImportValue': () => {
    throw new UnresolvableError('Fn::ImportValue needs another stack, and the local runner runs one');
  },
};

const SubWithValues = z.tuple([z.string(), z.record(z.string(), z.unknown())]);

const substitute = (name: string, own: Record<string, unknown>, scope: Scope): string => {
  if (name.startsWith('!')) return `\${${name.slice(1)}}`;
  if (name in own) return text.parse(resolveIntrinsics(own[name], scope));
  const dot = name.indexOf('.');
  return text.parse(dot < 0 ? scope.resolveRef(name) : scope.resolveAttribute(name.slice(0, dot), name.slice(dot + 1)));
};

export const evaluateTemplateCondition = (condition: unknown, scope: Scope): boolean => {
  const entries = Object.entries(z.record(z.string(), z.unknown()).parse(condition));
  const [name = '', argument] = entries[0] ?? [];
  if (name === 'Condition') return scope.resolveCondition(z.string().parse(argument));
  const parts = z.array(z.unknown()).parse(argument);
  if (name === 'Fn::Equals')
    return text.parse(resolveIntrinsics(parts[0], scope)) === text.parse(resolveIntrinsics(parts[1], scope));
  if (name === 'Fn::And') return parts.every((part) => evaluateTemplateCondition(part, scope));
  if (name === 'Fn::Or') return parts.some((part) => evaluateTemplateCondition(part, scope));
  if (name === 'Fn::Not') return !evaluateTemplateCondition(parts[0], scope);
  throw new UnresolvableError(unknownResourceIssue(name));
};
