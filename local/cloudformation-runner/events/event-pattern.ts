import { z } from 'zod';
import { matchesGlob } from '../iam/glob.ts';
import { unknownResourceIssue } from '../template-error.ts';

export class PatternError extends Error {}

export type Matches = (event: unknown) => boolean;

/** `undefined` is an absent field. */
type Test = (value: unknown) => boolean;

/** Throws on operators that it does not know. */
export const compilePattern = (pattern: unknown): Matches => {
  const fields = Fields.safeParse(pattern);
  if (!fields.success) throw new PatternError('a pattern must be an object');
  const tests = Object.entries(fields.data).map(([name, wanted]): Matches => {
    if (name === '$or') {
      const choices = z.array(z.unknown()).parse(wanted).map(compilePattern);
      return (event) => choices.some((matches) => matches(event));
    }
    if (Array.isArray(wanted)) {
      const leaf = combineTests(wanted.map(compileTest));
      return (event) => leaf(compileFieldTest(event, name));
    }
    const below = compilePattern(wanted);
    return (event) => below(compileFieldTest(event, name));
  });
  return (event) => tests.every((matches) => matches(event));
};

const Fields = z.record(z.string(), z.unknown());

const compileFieldTest = (event: unknown, name: string): unknown => Fields.safeParse(event).data?.[name];

/** EventBridge: a list matches if one of its elements does. */
const combineTests =
  (tests: Test[]): Test =>
  (value) =>
    (Array.isArray(value) ? value : [value]).some((each) => tests.some((matches) => matches(each)));

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

const compileTextTest =
  (compare: (value: string, wanted: string) => boolean) =>
  (argument: unknown): Test => {
    const nested = z.object({ 'equals-ignore-case': z.string() }).safeParse(argument).data?.['equals-ignore-case'];
    if (nested !== undefined) {
      return (value) => typeof value === 'string' && compare(value.toLowerCase(), nested.toLowerCase());
    }
    const wanted = z.string().safeParse(argument);
    if (!wanted.success)
      throw new PatternError(unknownResourceIssue(`the operand ${JSON.stringify(argument)} of a pattern`));
    return (value) => typeof value === 'string' && compare(value, wanted.data);
  };

const OPERATORS: Record<string, (argument: unknown) => Test> = {
  prefix: compileTextTest((value, wanted) => value.startsWith(wanted)),
  suffix: compileTextTest((value, wanted) => value.endsWith(wanted)),
  'equals-ignore-case': compileTextTest((value, wanted) => value.toLowerCase() === wanted.toLowerCase()),
  wildcard: compileTextTest((value, wanted) => matchesGlob(wanted, value)),
  exists: (argument) => {
    const isWanted = z.boolean().parse(argument);
    return (value) => (value !== undefined) === isWanted;
  },
  numeric: (argument) => compileNumericTest(z.array(z.union([z.string(), z.number()])).parse(argument)),
  'anything-but': (argument) => {
    const excluded = (Array.isArray(argument) ? argument : [argument]).map(compileTest);
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
  const tests: ((value: number) => boolean)[] = [];
  for (let at = 0; at < argument.length; at += 2) {
    const compare = COMPARISONS[String(argument[at])];
    if (!compare) throw new PatternError(unknownResourceIssue(`the numeric comparison ${argument[at]}`));
    const wanted = Number(argument[at + 1]);
    tests.push((value) => compare(value, wanted));
  }
  return (value) => typeof value === 'number' && tests.every((matches) => matches(value));
};
