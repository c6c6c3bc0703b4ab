import { z } from 'zod';
import { fits } from '../access/glob.ts';
import { notKnown } from '../template-error.ts';

export class PatternError extends Error {}

export type Matches = (event: unknown) => boolean;

/** Tests one value; `undefined` stands for a field that is not there. */
type Test = (value: unknown) => boolean;

/** An event pattern of EventBridge's, as rules and event source mappings use it. What it does not know, it refuses. */
export const compiledPattern = (pattern: unknown): Matches => {
  const fields = Fields.safeParse(pattern);
  if (!fields.success) throw new PatternError('a pattern must be an object');
  const tests = Object.entries(fields.data).map(([name, wanted]): Matches => {
    if (name === '$or') {
      const choices = z.array(z.unknown()).parse(wanted).map(compiledPattern);
      return (event) => choices.some((matches) => matches(event));
    }
    if (Array.isArray(wanted)) {
      const leaf = anyOf(wanted.map(compiledTest));
      return (event) => leaf(fieldOf(event, name));
    }
    const below = compiledPattern(wanted);
    return (event) => below(fieldOf(event, name));
  });
  return (event) => tests.every((matches) => matches(event));
};

const Fields = z.record(z.string(), z.unknown());

const fieldOf = (event: unknown, name: string): unknown => Fields.safeParse(event).data?.[name];

/** A field that is a list matches if one of its elements does. */
const anyOf =
  (tests: Test[]): Test =>
  (value) =>
    (Array.isArray(value) ? value : [value]).some((each) => tests.some((matches) => matches(each)));

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const compiledTest = (wanted: unknown): Test => {
  const exact = scalar.safeParse(wanted);
  if (exact.success) return (value) => value === exact.data;
  const [operator = '', argument, ...more] = Object.entries(Fields.parse(wanted)).flat();
  const compile = OPERATORS[String(operator)];
  if (!compile || more.length > 0) throw new PatternError(notKnown(`the pattern operator ${String(operator)}`));
  return compile(argument);
};

const textTest =
  (compare: (value: string, wanted: string) => boolean) =>
  (argument: unknown): Test => {
    const nested = z.object({ 'equals-ignore-case': z.string() }).safeParse(argument).data?.['equals-ignore-case'];
    if (nested !== undefined) {
      return (value) => typeof value === 'string' && compare(value.toLowerCase(), nested.toLowerCase());
    }
    const wanted = z.string().safeParse(argument);
    if (!wanted.success) throw new PatternError(notKnown(`the operand ${JSON.stringify(argument)} of a pattern`));
    return (value) => typeof value === 'string' && compare(value, wanted.data);
  };

const OPERATORS: Record<string, (argument: unknown) => Test> = {
  prefix: textTest((value, wanted) => value.startsWith(wanted)),
  suffix: textTest((value, wanted) => value.endsWith(wanted)),
  'equals-ignore-case': textTest((value, wanted) => value.toLowerCase() === wanted.toLowerCase()),
  wildcard: textTest((value, wanted) => fits(wanted, value)),
  exists: (argument) => {
    const isWanted = z.boolean().parse(argument);
    return (value) => (value !== undefined) === isWanted;
  },
  numeric: (argument) => numericTest(z.array(z.union([z.string(), z.number()])).parse(argument)),
  'anything-but': (argument) => {
    const excluded = (Array.isArray(argument) ? argument : [argument]).map(compiledTest);
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

/** `[">", 0, "<=", 5]`: all of its comparisons hold. */
const numericTest = (argument: (string | number)[]): Test => {
  const tests: ((value: number) => boolean)[] = [];
  for (let at = 0; at < argument.length; at += 2) {
    const compare = COMPARISONS[String(argument[at])];
    if (!compare) throw new PatternError(notKnown(`the numeric comparison ${argument[at]}`));
    const wanted = Number(argument[at + 1]);
    tests.push((value) => compare(value, wanted));
  }
  return (value) => typeof value === 'number' && tests.every((matches) => matches(value));
};
