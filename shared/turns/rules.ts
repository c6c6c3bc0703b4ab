import { ParleyError } from '../errors.ts';
import { all, any, is, oneOf } from '../ports/conditions.ts';
import type { Rule } from '../tasks/rules.ts';
import { type Head, stateOf } from './head.ts';

/** Which turn its holder believes to have. */
export interface Gate {
  turn: string;
  epoch: number;
}

export const gated = ({ turn, epoch }: Gate): Rule<Head> => ({
  holds: all(is('epoch', epoch), is('turn', turn)),
  refusal: (head) => stale({ turn, epoch }, head),
});

export const isGated = ({ turn, epoch }: Gate, head: Head): boolean => head.turn === turn && head.epoch === epoch;

export const stale = ({ turn, epoch }: Gate, head?: Head): ParleyError =>
  new ParleyError(
    'stale_turn',
    `The turn ${turn} with the epoch ${epoch} is not the active one: it has ended, was reaped, or was never leased. Stop working on it.`,
    { facts: { state: stateOf(head), turn_epoch: head?.epoch ?? 0, active_agent_turn_id: head?.turn ?? null } },
  );

export const dispatched: Rule<Head> = {
  holds: is('state', 'dispatched'),
  refusal: (head) => notIn('dispatched', head),
};

export const running: Rule<Head> = {
  holds: any(is('state', 'running'), all(is('state', 'suspended'), is('open', 0))),
  refusal: (head) => notIn('running', head),
};

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
