import * as z from 'zod';
import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import { getActivePause } from '../../identity/agents/agent-control.ts';
import type { Deps } from '../../identity/deps.ts';
import { toIso } from '../../ports/clock.ts';

/** That an agent is given no work, as whoever asks is told. */
export const PauseView = z
  .object({
    action: z.enum(['pause', 'drain', 'stop']),
    by: z.string(),
    reason: z.string().optional(),
    since: z.iso.datetime(),
    until: z.iso.datetime().optional().describe('absent if only another command ends it'),
  })
  .meta({ id: 'Pause' });

export const toPauseView = (
  { clock }: Pick<Deps, 'clock'>,
  registered: RegisteredAgent,
): z.output<typeof PauseView> | undefined => {
  const pause = getActivePause(registered, clock.now());
  if (!pause) return undefined;
  const { action, by, reason, since, until } = pause;
  const times = { since: toIso(since), until: toIso(until) };
  return { action, by, reason, since: times.since, until: times.until || undefined };
};
