import * as z from 'zod';
import { isInheritedKey } from '../identity/limit-rules.ts';
import { ParleyError } from '../kernel/errors.ts';
import { boundedArray } from '../kernel/json/bounded-schemas.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { parseOrThrow } from '../kernel/json/parse-or-throw.ts';
import type { TaskRequestCommand } from '../model/command.ts';
import {
  LIMIT_KEY,
  LIMIT_KEY_RULE,
  MAX_CONCURRENCY,
  MAX_LIMITS,
  MAX_RATE_SECONDS,
  MAX_STARTS,
} from '../model/limit.ts';

/** What has no major version that can be read is left to the schema. */
export const assertSameMajorVersion = (version: unknown, spoken: string): void => {
  const [major] = /^\d{1,4}(?=\.\d)/.exec(typeof version === 'string' ? version : '') ?? [];
  if (major === undefined || Number(major) === Number.parseInt(spoken, 10)) return;
  throw new ParleyError(
    'unsupported_version',
    `Version ${version} is not compatible with ${spoken}, which is spoken here.`,
    { details: { version: String(version), supported: spoken } },
  );
};

/** Without what a sender writes anew each time that it sends a message: a repetition is known by its id and all else. */
export const omitStamps = ({
  timestamp: _timestamp,
  retryCount: _retryCount,
  traceparent: _traceparent,
  tracestate: _tracestate,
  baggage: _baggage,
  observability: _observability,
  ...rest
}: JsonObject): JsonObject => rest;

export const MAX_TTL_SECONDS = 7 * 86_400;

export const TimeToLive = z.number().int().min(1).default(3600).describe('seconds; more than 604800 counts as 604800');

/** When a task may start. The time to live begins then. */
export const NotBefore = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' })
  .optional()
  .describe('the task is queued at this time, and its time to live begins then');

export const toNotBefore = (time: string | undefined): Pick<TaskRequestCommand, 'notBefore'> =>
  time === undefined ? {} : { notBefore: Date.parse(time) };

/** What a task names for itself. The other keys are for rules. */
export const Limits = boundedArray(
  z.strictObject({
    key: z
      .string()
      .regex(LIMIT_KEY, LIMIT_KEY_RULE)
      .refine(
        (key) => !isInheritedKey(key),
        'must not begin with requester:, domain: or capability:, which are for rules',
      ),
    concurrency: z
      .number()
      .int()
      .min(1)
      .max(MAX_CONCURRENCY)
      .optional()
      .describe('how many tasks of the key run at once'),
    rate: z
      .strictObject({
        starts: z.number().int().min(1).max(MAX_STARTS),
        seconds: z.number().int().min(1).max(MAX_RATE_SECONDS),
      })
      .optional()
      .describe('how many tasks of the key start in any stretch of so many seconds'),
  }),
  { min: 1, max: MAX_LIMITS },
)
  .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'must have keys that differ')
  .optional()
  .describe('the task waits while its keys have no place for it');

/** The protocols set no maximum. */
export const toTimeToLive = (seconds: number): Pick<TaskRequestCommand, 'ttlSeconds' | 'notices'> =>
  seconds <= MAX_TTL_SECONDS
    ? { ttlSeconds: seconds }
    : {
        ttlSeconds: MAX_TTL_SECONDS,
        notices: [`The time to live of ${seconds} s was cut to ${MAX_TTL_SECONDS} s, which is 7 days.`],
      };

export const parsePayload = <T>(schema: z.ZodType<T>, payload: JsonObject, what: string): T => {
  try {
    return parseOrThrow(schema, payload, 'protocol_violation', what);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const issues = error.issues?.map(({ path, message }) => ({ path: `payload.${path}`, message }));
    throw new ParleyError(error.code, error.message, { issues, details: { ...error.details, violated: 'payload' } });
  }
};
