import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../json/json.ts';
import { agentOs } from './agent-os/agent-os.ts';
import { commonGround } from './common-ground/common-ground.ts';
import type { Dialect } from './dialect.ts';
import { messageRouting } from './message-routing/message-routing.ts';
import { roundTable } from './round-table/round-table.ts';
import { taskFormat } from './task-format/task-format.ts';

/** Every dialect, in the order in which a message is tried against them. */
export const dialects: readonly Dialect[] = [commonGround, messageRouting, roundTable, agentOs, taskFormat];

export const dialectNames = dialects.map(({ name }) => name);

export const dialectNamed = (name: string): Dialect => {
  const dialect = dialects.find((candidate) => candidate.name === name);
  if (dialect) return dialect;
  throw new ParleyError('unknown_dialect', `There is no dialect "${name}". Known: ${dialectNames.join(', ')}.`, {
    facts: { known: dialectNames },
  });
};

/** The dialect that is named, or the one whose shape the message has. */
export const dialectOf = (message: JsonObject, named: string | undefined): Dialect => {
  if (named !== undefined) return dialectNamed(named);
  const recognised = dialects.find((candidate) => candidate.recognises(message));
  if (recognised && (!recognised.types || isOfType(recognised, message))) return recognised;
  const nearest = nearestTo(message);
  // What has another dialect's type, and lacks what that one is known by, is to learn just that.
  if (recognised) return nearest && isOfType(nearest, message) ? nearest : recognised;
  const lacks = nearest ? `What it lacks of the nearest, ${nearest.name}, is listed.` : 'See /schemas/<dialect>.json.';
  throw new ParleyError(
    'unknown_dialect',
    `The message has the shape of no dialect. Known: ${dialectNames.join(', ')}. ${lacks}`,
    { facts: { known: dialectNames, nearest: nearest?.name ?? null }, issues: nearest?.complaints(message) },
  );
};

const isOfType = ({ types }: Dialect, { type }: JsonObject): boolean => types?.some((known) => known === type) ?? false;

/** The one that knows most of the message's keys and its type, and of several such the one that finds least wrong with it. */
const nearestTo = (message: JsonObject): Dialect | undefined => {
  const keys = Object.keys(message);
  const knownTo = (dialect: Dialect): number =>
    keys.filter((key) => dialect.keys.includes(key)).length + Number(isOfType(dialect, message));
  const most = Math.max(...dialects.map(knownTo));
  if (most === 0) return undefined;
  const wrongTo = (dialect: Dialect): number => dialect.complaints(message).length;
  return dialects.filter((dialect) => knownTo(dialect) === most).toSorted((a, b) => wrongTo(a) - wrongTo(b))[0];
};
