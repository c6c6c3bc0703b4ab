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
  const dialect = dialects.find((candidate) => candidate.recognises(message));
  if (dialect) return dialect;
  const [nearest] = dialects
    .map((candidate) => ({ name: candidate.name, issues: candidate.complaints(message) }))
    .toSorted((a, b) => a.issues.length - b.issues.length);
  throw new ParleyError(
    'unknown_dialect',
    `The message has the shape of no dialect. Known: ${dialectNames.join(', ')}. What it lacks of the nearest, ${nearest?.name}, is listed.`,
    { facts: { known: dialectNames, nearest: nearest?.name ?? null }, issues: nearest?.issues },
  );
};
