import * as z from 'zod';
import { AGENT_ID, type Agent } from '../../identity/agents/agent.ts';
import { type Caller, findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { computeNextSequence, sequenceRef } from '../../messaging/sequences/sequence.ts';
import { defineRoute, type Route } from '../route.ts';

const agentId = z.string().regex(AGENT_ID, 'must be an agent id');
const count = z.number().int();

const getRegisteredAgent = async (deps: Deps, { project }: Caller, id: string): Promise<Agent> => {
  const registered = await findAgent(deps, project, id);
  if (registered) return registered.agent;
  throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
};

const assertMemberOfPair = (caller: Caller, ...pair: string[]): void => {
  if (caller.role === 'admin' || pair.includes(caller.registered.agent.id)) return;
  throw new ParleyError('forbidden', `What ${pair.join(' sends to ')} is for these two and an admin key to know.`);
};

/** What is between two agents. */
export const agentPairRoutes: Route[] = [
  defineRoute({
    operationId: 'getSequence',
    method: 'GET',
    path: '/v1/agents/{id}/sequence',
    summary: 'Get the sequence numbers of messages from one agent to another',
    query: z.strictObject({ to: agentId }),
    responses: {
      200: {
        description: 'The sequence',
        schema: z.object({
          from: z.string(),
          to: z.string(),
          last: count.describe('the highest number that arrived. 0 before the first message'),
          next: count.describe('the number for the next message'),
          missing: z.array(z.object({ from: count, to: count })).describe('numbers that have not arrived'),
          gaps: count,
          late: count.describe('messages that arrived out of order'),
          repeats: count,
          resets: count,
        }),
      },
      404: { description: 'No such agent' },
    },
    handle: async ({ deps, caller, params, query: { to } }) => {
      const { id: from } = await getRegisteredAgent(deps, caller, params.id ?? '');
      assertMemberOfPair(caller, from, to);
      const seen = await deps.records.get(sequenceRef(caller.project, from, to));
      const { last = 0, missing = [], gap = 0, late = 0, repeat = 0, reset = 0 } = seen ?? {};
      const ranges = missing.map(([first, end]) => ({ from: first, to: end }));
      const counts = { gaps: gap, late, repeats: repeat, resets: reset };
      return { status: 200, body: { from, to, last, next: computeNextSequence(last), missing: ranges, ...counts } };
    },
  }),
  defineRoute({
    operationId: 'getCommonVersion',
    method: 'GET',
    path: '/v1/agents/{id}/version',
    summary: 'Get the highest protocol version that two agents support',
    query: z.strictObject({ with: agentId }),
    responses: {
      200: {
        description: 'The version, and the versions of each agent',
        schema: z.object({ version: z.string(), spoken: z.record(z.string(), z.array(z.string())) }),
      },
      404: { description: 'No such agent' },
      422: { description: 'The agents have no common version' },
    },
    handle: async ({ deps, caller, params, query }) => {
      const agents = [
        await getRegisteredAgent(deps, caller, params.id ?? ''),
        await getRegisteredAgent(deps, caller, query.with),
      ];
      const version = pickHighestCommonVersion(agents.map(getProtocolVersions));
      const spoken = Object.fromEntries(agents.map((agent) => [agent.id, getProtocolVersions(agent)]));
      if (version !== undefined) return { status: 200, body: { version, spoken } };
      throw new ParleyError(
        'no_common_version',
        `${agents.map(({ id }) => id).join(' and ')} speak no version in common.`,
        { details: { spoken } },
      );
    },
  }),
];

const FIRST_VERSION = '1.0.0';

const getProtocolVersions = ({ versions }: Agent): string[] => (versions?.length ? versions : [FIRST_VERSION]);

/** `1.0.0`, `1.0`, `v1r3`. */
const VERSION = /^v?(\d{1,6})[.r](\d{1,6})(?:\.(\d{1,6}))?$/;

/** `1.0` equals `1.0.0`; an invalid version equals none. */
const parseVersion = (version: string): number[] | undefined => {
  const [, major, minor, patch] = VERSION.exec(version) ?? [];
  return major === undefined ? undefined : [major, minor, patch ?? 0].map(Number);
};

const compareVersions = (a: string, b: string): number => {
  const [left = [], right = []] = [parseVersion(a), parseVersion(b)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
};

const pickHighestCommonVersion = ([first = [], ...others]: string[][]): string | undefined =>
  first
    .filter((version) => parseVersion(version) !== undefined)
    .filter((version) =>
      others.every((list) => list.some((other) => parseVersion(other) && compareVersions(version, other) === 0)),
    )
    .toSorted(compareVersions)
    .at(-1);
