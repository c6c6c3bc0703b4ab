import type { Caller } from '../../identity/auth/authenticate.ts';
import { listUsableChannels } from '../../identity/channels.ts';
import { TURN_RESULTS } from '../../model/agent-state.ts';
import type { Turn } from '../../model/turn.ts';
import { and, equals, equalsAny } from '../../ports/conditions.ts';
import type { ListedFields, ListQuery } from '../../ports/lists.ts';

export const TURN_STATUSES = ['queued', 'leased', ...TURN_RESULTS] as const;
type TurnStatus = (typeof TURN_STATUSES)[number];

export interface TurnFilter {
  /** One of them. */
  status?: readonly TurnStatus[] | undefined;
  requester?: string | undefined;
  /** Whose turn it is. */
  agent?: string | undefined;
  channel?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

export const getTurnStatus = ({ state, end }: Turn): string => end?.status ?? state;

export const toListedTurn = (turn: Turn): ListedFields => ({
  createdAt: turn.createdAt,
  status: getTurnStatus(turn),
  requester: turn.from,
  addressee: turn.agent,
  conversation: turn.channel,
});

/** Agents see those of their channels. */
export const buildTurnQuery = (caller: Caller, filter: TurnFilter): ListQuery<Turn> => {
  const { status, requester, agent, channel, since, until } = filter;
  const usable = listUsableChannels(caller);
  const where = and(
    ...(status ? [equalsAny('status', ...status)] : []),
    ...(requester === undefined ? [] : [equals('requester', requester)]),
    ...(agent === undefined ? [] : [equals('addressee', agent)]),
    ...(channel === undefined ? [] : [equals('conversation', channel)]),
    ...(usable ? [equalsAny('conversation', ...usable)] : []),
  );
  return { project: caller.project, kind: 'turn', toFields: toListedTurn, where, since, until };
};
