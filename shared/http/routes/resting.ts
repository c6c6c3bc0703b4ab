import * as z from 'zod';
import type { Known } from '../../agents/agent.ts';
import { restOf } from '../../agents/orders.ts';
import type { Deps } from '../../deps.ts';
import { iso } from '../../json/iso.ts';

/** That an agent is given no work, as whoever asks is told. */
export const Resting = z.object({
  action: z.enum(['pause', 'stop']),
  by: z.string(),
  reason: z.string().optional(),
  since: z.iso.datetime(),
  until: z.iso.datetime().optional().describe('absent where only another order ends it'),
});

export const restingView = ({ clock }: Pick<Deps, 'clock'>, known: Known): z.output<typeof Resting> | undefined => {
  const rest = restOf(known, clock.now());
  if (!rest) return undefined;
  const { action, by, reason, since, until } = rest;
  const times = { since: iso(since), until: iso(until) };
  return { action, by, reason, since: times.since, until: times.until || undefined };
};
