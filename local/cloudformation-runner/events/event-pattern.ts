import { BlockList, isIPv4 } from 'node:net';
import { z } from 'zod';
import { matchesGlob } from '../iam/glob.ts';
import { unknownResourceIssue } from '../template-error.ts';

export class PatternError extends Error {}

export type Matches = (event: unknown) => boolean;

/** `undefined` is an absent field. */
type Test = (value: unknown) => boolean;

/** The values below each path. EventBridge reads `{"a": {"b": 1}}` and `{"a.b": 1}` alike, and a list as all of its elements. */
type Leaves = Map<string, unknown[]>;

/** Throws on operators that it does not know. */
export const compilePattern = (pattern: unknown): Matches => {
  try {
    const matches = compileFields(pattern, '');
    return (event) => matches(collectLeaves(event, '', new Map()));
  } catch (error) {
    throw error instanceof z.ZodError ? new PatternError(`a pattern has a wrong operand: ${error.message}`) : error;
  }
};

const Fields = z.record(z.string(), z.unknown());

const collectLeaves = (value: unknown, path: string, leaves: Leaves): Leaves => {
  if (Array.isArray(value)) for (const each of value) collectLeaves(each, path, leaves);
  else if (typeof value !== 'object' || value === null) leaves.set(path, [...(leaves.get(path) ?? []), value]);
  else for (const [name, each] of Object.entries(value)) collectLeaves(each, `${path}.${name}`, leaves);
  return leaves;
};

const compileFields = (pattern: unknown, path: string): ((leaves: Leaves) => boolean) => {
  const fields = Fields.safeParse(pattern);
  if (!fields.success) throw new PatternError(`a pattern must be an object, and its values lists: ${path}`);
  const tests = Object.entries(fields.data).map(([name, wanted]): ((leaves: Leaves) => boolean) => {
    if (name === '$or') {
      const choices = z.array(z.unknown()).parse(wanted);
      const compiled = choices.map((choice) => compileFields(choice, path));
      return (leaves) => compiled.some((matches) => matches(leaves));
    }
    const below = `${path}.${name}`;
    if (!Array.isArray(wanted)) return compileFields(wanted, below);
    if (wanted.length === 0) throw new PatternError(`an empty list matches nothing: ${below}`);
    const alternatives = wanted.map(compileTest);
    return (leaves) => (leaves.get(below) ?? [undefined]).some((value) => alternatives.some((test) => test(value)));
  });
  return (leaves) => tests.every((matches) => matches(leaves));
};

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const compileTest = (wanted: unknown): Test => {
  const exact = scalar.safeParse(wanted);
  if (exact.success) return (value) => value === exact.data;
  const [operator = '', argument, ...more] = Object.entries(Fields.parse(wanted)).flat();
  const compile = OPERATORS[String(operator)];
  if (!compile || more.length > 0)
    throw new PatternError(unknownResourceIssue(`the pattern operator ${String(operator)}`));
  return compile(argument);
};

type Compare = (value: string, wanted: string) => boolean;

const COMPARE = {
  prefix: (value, wanted) => value.startsWith(wanted),
  suffix: (value, wanted) => value.endsWith(wanted),
  'equals-ignore-case': (value, wanted) => value.toLowerCase() === wanted.toLowerCase(),
  wildcard: (value, wanted) => matchesGlob(wanted, value),
} satisfies Record<string, Compare>;

const isComparison = (name: string): name is keyof typeof COMPARE => name in COMPARE;

const compileText =
  (name: keyof typeof COMPARE) =>
  (wanted: string): Test => {
    if (name === 'wildcard' && wanted.includes('**')) throw new PatternError('a wildcard has two stars in a row');
    return (value) => typeof value === 'string' && COMPARE[name](value, wanted);
  };

const compileTextTest =
  (name: keyof typeof COMPARE) =>
  (argument: unknown): Test => {
    const nested = z.strictObject({ 'equals-ignore-case': z.string() }).safeParse(argument);
    if (nested.success && (name === 'prefix' || name === 'suffix')) {
      const wanted = nested.data['equals-ignore-case'].toLowerCase();
      return (value) => typeof value === 'string' && COMPARE[name](value.toLowerCase(), wanted);
    }
    return compileText(name)(z.string().parse(argument));
  };

const compileExcluded = (argument: unknown): Test[] => {
  const [[name = '', wanted] = []] = Object.entries(Fields.safeParse(argument).data ?? {});
  if (isComparison(name)) {
    const texts = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).parse(wanted);
    return [texts].flat().map(compileText(name));
  }
  return [z.union([z.string(), z.number(), z.array(z.union([z.string(), z.number()])).min(1)]).parse(argument)]
    .flat()
    .map(compileTest);
};

const compileCidr = (argument: unknown): Test => {
  const [address = '', bits] = z.string().parse(argument).split('/');
  const list = new BlockList();
  try {
    list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6');
  } catch (cause) {
    throw new PatternError(`no CIDR: ${argument}`, { cause });
  }
  return (value) => typeof value === 'string' && list.check(value, isIPv4(value) ? 'ipv4' : 'ipv6');
};

const OPERATORS: Record<string, (argument: unknown) => Test> = {
  prefix: compileTextTest('prefix'),
  suffix: compileTextTest('suffix'),
  'equals-ignore-case': compileTextTest('equals-ignore-case'),
  wildcard: compileTextTest('wildcard'),
  cidr: compileCidr,
  exists: (argument) => {
    const isWanted = z.boolean().parse(argument);
    return (value) => (value !== undefined) === isWanted;
  },
  numeric: (argument) => compileNumericTest(z.array(z.union([z.string(), z.number()])).parse(argument)),
  'anything-but': (argument) => {
    const excluded = compileExcluded(argument);
    return (value) => value !== undefined && !excluded.some((matches) => matches(value));
  },
};

const COMPARISONS: Record<string, (value: number, wanted: number) => boolean> = {
  '<': (value, wanted) => value < wanted,
  '<=': (value, wanted) => value <= wanted,
  '=': (value, wanted) => value === wanted,
  '>': (value, wanted) => value > wanted,
  '>=': (value, wanted) => value >= wanted,
};

const compileNumericTest = (argument: (string | number)[]): Test => {
  const signs = argument.filter((_, at) => at % 2 === 0).map(String);
  const isRange = signs.length === 2 && signs[0]?.startsWith('>') && signs[1]?.startsWith('<');
  if (argument.length % 2 === 1 || !(signs.length === 1 || isRange))
    throw new PatternError(unknownResourceIssue(`the numeric comparison ${argument.join(' ')}`));
  const tests = signs.map((sign, at) => {
    const compare = COMPARISONS[sign];
    if (!compare) throw new PatternError(unknownResourceIssue(`the numeric comparison ${sign}`));
    const wanted = z.number().parse(argument[at * 2 + 1]);
    return (value: number): boolean => compare(value, wanted);
  });
  return (value) => typeof value === 'number' && tests.every((matches) => matches(value));
};
