import { ParleyError } from '../errors.ts';
import { absent, all, any, below, is, oneOf } from '../ports/conditions.ts';
import type { Rule } from '../tasks/rules.ts';
import { type Head, ownIn, stateOf } from './head.ts';

/** Which turn its holder believes to have. */
export interface Gate {
  turn: string;
  epoch: number;
}

/** Who is refused learns what the agent does instead, if it may know. */
export const gated = ({ turn, epoch }: Gate, mayKnow: (head: Head) => boolean = () => true): Rule<Head> => ({
  holds: all(is('epoch', epoch), is('turn', turn)),
  refusal: (head) => stale({ turn, epoch }, mayKnow(head) ? head : undefined),
});

export const isGated = ({ turn, epoch }: Gate, head: Head): boolean => head.turn === turn && head.epoch === epoch;

export const stale = ({ turn, epoch }: Gate, head?: Head): ParleyError =>
  new ParleyError(
    'stale_turn',
    `The turn ${turn} with the epoch ${epoch} is not the active one: it has ended, was reaped, or was never leased. Stop working on it.`,
    { facts: head && { state: stateOf(head), turn_epoch: head.epoch, active_agent_turn_id: head.turn ?? null } },
  );

export const dispatched: Rule<Head> = {
  holds: is('state', 'dispatched'),
  refusal: (head) => notIn('dispatched', head),
};

export const running: Rule<Head> = {
  holds: any(is('state', 'running'), all(is('state', 'suspended'), is('open', 0))),
  refusal: (head) => notIn('running', head),
};

/** With a worker, who has read what the tools reported. */
export const takenUp: Rule<Head> = {
  holds: is('state', 'running'),
  refusal: (head) => (stateOf(head) === 'running' ? unread(head) : notIn('running', head)),
};

const unread = ({ turn }: Head): ParleyError =>
  new ParleyError(
    'not_running',
    `The tools of the turn ${turn} have reported. Lease it, read what they said, and go on.`,
    {
      facts: { state: 'suspended' },
    },
  );

/** All of them are kept in the head, which must stay small enough to be written. */
const MAX_CALLS = 500;

/** A turn waits for a tool call once: what was reported of it is not asked for again. */
export const newCalls = (calls: readonly string[]): Rule<Head>[] => [
  {
    holds: all(...calls.map((call) => absent(`waiting.${call}`))),
    refusal: ({ turn, waiting }) => {
      const known = calls.filter((call) => ownIn(waiting, call) !== undefined);
      return new ParleyError(
        'id_reused',
        `The turn ${turn} has waited for these tool calls before: ${known.join(', ')}. Give every call an id of its own.`,
      );
    },
  },
  {
    holds: below('calls', MAX_CALLS - calls.length + 1),
    refusal: ({ turn }) =>
      new ParleyError(
        'protocol_violation',
        `The turn ${turn} has called tools ${MAX_CALLS} times: deliver what it has.`,
        {
          facts: { violated: 'waiting', limit: MAX_CALLS },
        },
      ),
  },
];

const notIn = (wanted: string, head: Head): ParleyError =>
  new ParleyError('not_running', `The turn ${head.turn} is ${stateOf(head)}, not ${wanted}.`, {
    facts: { state: stateOf(head) },
  });

/** A report is believed only if it says how deep the turn is that it is for. */
export const atDepth = (depth: number): Rule<Head> => ({
  holds: is('active.depth', depth),
  refusal: (head) =>
    new ParleyError(
      'protocol_violation',
      `The recursion depth is ${depth}, but ${head.active?.depth} was recorded for the correlation id ${head.active?.correlation}.`,
      { facts: { violated: 'recursion_depth', recorded: head.active?.depth ?? null } },
    ),
});

export const waitsFor = (toolCall: string): Rule<Head> => ({
  holds: is(`waiting.${toolCall}`, 'waiting'),
  refusal: (head) => notIn('waiting for this tool call', head),
});

/** A subject names the channel of the turn that it is about. */
export const ofChannel = (channel: string | undefined): Rule<Head>[] =>
  channel === undefined
    ? []
    : [{ holds: is('active.channel', channel), refusal: ({ active }) => otherChannel(channel, active?.channel) }];

export const otherChannel = (said: string, recorded: string | undefined): ParleyError =>
  new ParleyError('protocol_violation', `The subject is of the channel ${said}, but the turn of ${recorded}.`, {
    facts: { violated: 'channel' },
  });

export const onChannel = (channels: readonly string[] | undefined): Rule<Head>[] =>
  channels === undefined
    ? []
    : [
        {
          holds: oneOf('active.channel', ...channels),
          refusal: ({ active }) =>
            new ParleyError(
              'channel_forbidden',
              `The turn is on the channel ${active?.channel}, which the key may not use.`,
            ),
        },
      ];
