import { ParleyError } from '../../kernel/errors.ts';
import { type AgentState, computeExecutionStatus, getOwn } from '../../model/agent-state.ts';
import { and, equals, equalsAny, lessThan, notExists, or } from '../../ports/conditions.ts';
import type { Rule } from '../../tasks/transitions/rules.ts';

/** What the worker believes to hold. */
export interface FencingToken {
  turn: string;
  epoch: number;
}

/** The error tells what the agent executes now, if the caller may know. */
export const requireActive = (
  { turn, epoch }: FencingToken,
  mayKnow: (head: AgentState) => boolean = () => true,
): Rule<AgentState> => ({
  holds: and(equals('epoch', epoch), equals('turn', turn)),
  toError: (head) => staleTurnError({ turn, epoch }, mayKnow(head) ? head : undefined),
});

export const isCurrentToken = ({ turn, epoch }: FencingToken, head: AgentState): boolean =>
  head.turn === turn && head.epoch === epoch;

export const staleTurnError = ({ turn, epoch }: FencingToken, head?: AgentState): ParleyError =>
  new ParleyError(
    'stale_turn',
    `The turn ${turn} with the epoch ${epoch} is not the active one: it has ended, was reaped, or was never leased. Stop working on it.`,
    {
      details: head && {
        state: computeExecutionStatus(head),
        turn_epoch: head.epoch,
        active_agent_turn_id: head.turn ?? null,
      },
    },
  );

export const requireDispatched: Rule<AgentState> = {
  holds: equals('state', 'dispatched'),
  toError: (head) => wrongStatusError('dispatched', head),
};

export const requireRunning: Rule<AgentState> = {
  holds: or(equals('state', 'running'), and(equals('state', 'suspended'), equals('openCallCount', 0))),
  toError: (head) => wrongStatusError('running', head),
};

/** With a worker that has read the reports. */
export const requireResumed: Rule<AgentState> = {
  holds: equals('state', 'running'),
  toError: (head) =>
    computeExecutionStatus(head) === 'running' ? unreadReportsError(head) : wrongStatusError('running', head),
};

const unreadReportsError = ({ turn }: AgentState): ParleyError =>
  new ParleyError(
    'not_running',
    `The tools of the turn ${turn} have reported. Lease it, read what they said, and go on.`,
    {
      details: { state: 'suspended' },
    },
  );

/** They are stored in the agent state, whose size is limited. */
const MAX_TOOL_CALLS = 500;

/** A call has one report. */
export const requireNewCalls = (calls: readonly string[]): Rule<AgentState>[] => [
  {
    holds: and(...calls.map((call) => notExists(`waiting.${call}`))),
    toError: ({ turn, waiting }) => {
      const known = calls.filter((call) => getOwn(waiting, call) !== undefined);
      return new ParleyError(
        'id_reused',
        `The turn ${turn} has waited for these tool calls before: ${known.join(', ')}. Give every call an id of its own.`,
      );
    },
  },
  {
    holds: lessThan('callCount', MAX_TOOL_CALLS - calls.length + 1),
    toError: ({ turn }) =>
      new ParleyError(
        'protocol_violation',
        `The turn ${turn} has called tools ${MAX_TOOL_CALLS} times: deliver what it has.`,
        {
          details: { violated: 'waiting', limit: MAX_TOOL_CALLS },
        },
      ),
  },
];

const wrongStatusError = (wanted: string, head: AgentState): ParleyError =>
  new ParleyError('not_running', `The turn ${head.turn} is ${computeExecutionStatus(head)}, not ${wanted}.`, {
    details: { state: computeExecutionStatus(head) },
  });

/** The depth of a report must match. */
export const requireDepth = (depth: number): Rule<AgentState> => ({
  holds: equals('active.depth', depth),
  toError: (head) =>
    new ParleyError(
      'protocol_violation',
      `The recursion depth is ${depth}, but ${head.active?.depth} was recorded for the correlation id ${head.active?.correlation}.`,
      { details: { violated: 'recursion_depth', recorded: head.active?.depth ?? null } },
    ),
});

export const requireAwaited = (toolCall: string): Rule<AgentState> => ({
  holds: equals(`waiting.${toolCall}`, 'waiting'),
  toError: (head) => wrongStatusError('waiting for this tool call', head),
});

/** The channel of the subject must match. */
export const requireSubjectChannel = (channel: string | undefined): Rule<AgentState>[] =>
  channel === undefined
    ? []
    : [
        {
          holds: equals('active.channel', channel),
          toError: ({ active }) => channelMismatchError(channel, active?.channel),
        },
      ];

export const channelMismatchError = (given: string, recorded: string | undefined): ParleyError =>
  new ParleyError('protocol_violation', `The subject is of the channel ${given}, but the turn of ${recorded}.`, {
    details: { violated: 'channel' },
  });

export const requireAllowedChannel = (channels: readonly string[] | undefined): Rule<AgentState>[] =>
  channels === undefined
    ? []
    : [
        {
          holds: equalsAny('active.channel', ...channels),
          toError: ({ active }) =>
            new ParleyError(
              'channel_forbidden',
              `The turn is on the channel ${active?.channel}, which the key may not use.`,
            ),
        },
      ];
