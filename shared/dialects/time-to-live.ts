import * as z from 'zod';
import type { TaskRequestCommand } from '../model/command.ts';

export const MAX_TTL_SECONDS = 7 * 86_400;

export const TimeToLive = z.number().int().min(1).default(3600).describe('seconds; more than 604800 counts as 604800');

/** The protocols set no maximum. */
export const toTimeToLive = (seconds: number): Pick<TaskRequestCommand, 'ttlSeconds' | 'notices'> =>
  seconds <= MAX_TTL_SECONDS
    ? { ttlSeconds: seconds }
    : {
        ttlSeconds: MAX_TTL_SECONDS,
        notices: [`The time to live of ${seconds} s was cut to ${MAX_TTL_SECONDS} s, which is 7 days.`],
      };
