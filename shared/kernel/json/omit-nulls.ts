import type * as z from 'zod';
import { isObject, type JsonObject } from './json.ts';

export const omitNulls = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));

/** A copy without the null members that the issues complain of; undefined if they complain of none. */
export const omitRejectedNulls = (value: unknown, issues: readonly z.core.$ZodIssue[]): unknown => {
  const paths = listPaths(issues).filter((path) => isNullMember(value, path));
  return paths.length > 0 ? omitMembers(value, paths) : undefined;
};

type Path = readonly PropertyKey[];

const listPaths = (issues: readonly z.core.$ZodIssue[], parent: Path = []): Path[] =>
  issues.flatMap((issue) => {
    const path = [...parent, ...issue.path];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
    if (issue.code === 'invalid_union') return [path, ...issue.errors.flatMap((errors) => listPaths(errors, path))];
    return [path];
  });

/** The items of an array have places: a null among them is not absent. */
const isNullMember = (value: unknown, path: Path): boolean => {
  const [step, ...rest] = path;
  if (step === undefined) return false;
  if (rest.length > 0) return isNullMember(getMember(value, step), rest);
  return isObject(value) && getMember(value, step) === null;
};

const getMember = (value: unknown, step: PropertyKey): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined;

const omitMembers = (value: unknown, paths: Path[]): unknown => {
  const inner = Map.groupBy(
    paths.filter(({ length }) => length > 1),
    ([step = '']) => step,
  );
  const omitWithin = (step: PropertyKey, member: unknown): unknown => {
    const below = inner.get(step);
    return below
      ? omitMembers(
          member,
          below.map((path) => path.slice(1)),
        )
      : member;
  };
  if (Array.isArray(value)) return value.map((item, index) => omitWithin(index, item));
  if (!isObject(value)) return value;
  const omitted = new Set(paths.filter(({ length }) => length === 1).map(([step]) => step));
  const kept = Object.entries(value).filter(([name]) => !omitted.has(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, omitWithin(name, member)]));
};
