import * as z from 'zod';
import { CHANNEL_ID, PUBLIC_CHANNEL } from '../kernel/channel-id.ts';
import { AwsConfig, checkQueueNames } from './aws-config.ts';
import { DialectSettings } from './dialect-settings.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

const name = z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -');
const positive = z.number().int().positive();

const DomainConfig = z.strictObject({
  description: z.string(),
  /** Whether agents in the cloud serve it, over HTTP, or agents on-prem, over NATS. It is never both. */
  transport: z.enum(['http', 'nats']).default('http'),
});

const ProjectConfig = z
  .strictObject({
    domains: z.record(name, DomainConfig),
    /** Whether agents on NATS take part: a relay then carries messages between them and Parley. */
    relay: z.boolean().default(false),
  })
  .refine(({ domains, relay }) => relay || Object.values(domains).every(({ transport }) => transport === 'http'), {
    error: "has a domain with via: 'nats' and needs relay: true",
  });

/** What a deployment decides. `parley.config.ts` gives the values. */
export const Config = z.strictObject({
  /** Each project has its own domains, agents, keys and tasks. */
  projects: z
    .record(name, ProjectConfig)
    // parley.dead-letters.> on NATS has what the cloud refused.
    .refine((projects) => projects.dead?.relay !== true, { error: 'a project with a relay cannot be called dead' }),
  dialects: DialectSettings.prefault({}),
  tasks: z
    .strictObject({
      leaseMs: positive.default(5 * MINUTE_MS),
      /** What a claim may name as its lease, and how far an estimate of its holder lengthens it, at the most. */
      maxLeaseMs: positive.default(60 * MINUTE_MS),
      /** How long heartbeats of its holder keep a task of which it says nothing. */
      maxSilentWorkMs: positive.default(4 * 60 * MINUTE_MS),
      maxAttempts: positive.default(3),
      retentionMs: positive.default(7 * DAY_MS),
      requeueMs: positive.default(10 * MINUTE_MS),
      retryMs: positive.default(SECOND_MS),
      maxRetryMs: positive.default(5 * MINUTE_MS),
    })
    .prefault({}),
  cards: z
    .strictObject({
      /** How long a card stays after it was last made or put into a box, at the least half of this; a box, after it was last written. */
      retentionMs: positive.default(30 * DAY_MS),
      /** A box is one record and names each of its cards in 50 bytes: 2,000 of them take 100 of the 400 KB that DynamoDB allows. */
      perBox: positive.max(2000).default(500),
    })
    .prefault({}),
  turns: z
    .strictObject({
      /** A turn that was leased and not started is woken again every so often, and one that may go on likewise. */
      repeatWakeupMs: positive.default(10 * SECOND_MS),
      /** Leased and not started for this long, it is reaped. */
      startTimeoutMs: positive.default(30 * SECOND_MS),
      /** Running without a sign of life for this long, it is reaped. */
      heartbeatTimeoutMs: positive.default(5 * MINUTE_MS),
      /** A bell for a turn that nobody leased is rung again after this, ever more rarely. */
      wakeupMs: positive.default(5 * SECOND_MS),
      /** How long a suspended turn waits for its tools where it does not say. */
      toolTimeoutMs: positive.default(15 * MINUTE_MS),
      /** From this depth on, a call is refused. */
      maxRecursionDepth: positive.default(20),
      retentionMs: positive.default(7 * DAY_MS),
    })
    .prefault({}),
  events: z.strictObject({ retentionMs: positive.default(30 * DAY_MS) }).prefault({}),
  /** Who reads events with a cursor of its own, kept here and shared by all its instances. */
  consumers: z
    .record(
      name,
      z.strictObject({
        project: name.default('default'),
        /** `task.completed`, or with a star all that begin alike: `task.*`. */
        types: z.array(z.string().min(1).max(128)).min(1),
        /** Which agents may read as this consumer, beside administrators. They are told all events of these types on its channels. */
        agents: z.array(z.string()).default([]),
        /** Of what is said on a channel, it hears what is said on these. Whoever reads as this consumer must be allowed to use them all. */
        channels: z
          .array(z.string().regex(CHANNEL_ID, 'must be public, u_<user> or t_<thread>'))
          .default([PUBLIC_CHANNEL]),
      }),
    )
    .prefault({}),
  /** Whose messages `GET /v1/audit-log` shows, by dialect, where that is not what the dialect itself asks for. */
  auditLog: z.record(z.string(), z.boolean()).prefault({}),
  agents: z
    .strictObject({
      /** How often an agent says that it lives. */
      heartbeatMs: positive.default(MINUTE_MS),
      /** After so many silent periods it counts as offline. */
      silentPeriods: positive.default(3),
      /** How long an instance of an agent counts as live after its last call. */
      instanceMs: positive.default(MINUTE_MS),
    })
    .prefault({}),
  limits: z
    .strictObject({
      bodyBytes: positive.default(4 * 1024 * 1024),
      /** Of a request's input: what a NATS message can carry on. */
      inputBytes: positive.default(1024 * 1024),
      /** Of a result, or of a card. With its input it must fit into one answer, which Lambda bounds at 6 MB. */
      outputBytes: positive.default(2 * 1024 * 1024),
      /** Of what must stand in a record beside its content: a DynamoDB item holds 400 KB. */
      extensionBytes: positive.default(64 * 1024),
      batch: positive.default(25),
      /** How many streams of events and of turns one key has open at once. Each is written to whenever something happens that it may hear of. */
      streamsPerKey: positive.default(16),
      /** How many calls of one key wait at once for tasks, messages, events or ends. */
      waitsPerKey: positive.default(256),
      /**
       * What one process works on at once; calls that wait do not count while they wait. At some 3,500 requests a second, 256 are
       * done within 75 ms and the 128 of one key within 40: more would not be done sooner, only all of it later.
       */
      inFlight: z
        .strictObject({
          requests: positive.default(256),
          requestsPerKey: positive.default(128),
          /** Of bodies. 32 MB of JSON take a process about half a second. */
          bytes: positive.default(32 * 1024 * 1024),
          bytesPerKey: positive.default(16 * 1024 * 1024),
        })
        .prefault({}),
      /** Of one process. Each agent that waits has one; Linux allows as many as `ulimit -n` says. */
      connections: positive.default(5000),
      /** From one address. Beyond them a wrong key is answered with 429; a valid one is not affected. */
      failedKeysPerMinute: positive.default(60),
    })
    .prefault({}),
  /** Only a deployment to AWS needs this, and is checked against what AWS allows. */
  aws: AwsConfig.optional(),
});
export type Config = z.output<typeof Config>;

export class ConfigError extends Error {}

/** The configuration, or one error that names everything wrong with it. */
export const defineConfig = (values: z.input<typeof Config>): Config => {
  const parsed = Config.safeParse(values);
  const issues = parsed.error?.issues ?? [];
  const mistakes = [
    ...issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
    ...checkQueueNames(values),
    ...(parsed.data ? checkConsumers(parsed.data) : []),
  ];
  if (parsed.success && mistakes.length === 0) return parsed.data;
  throw new ConfigError(`parley.config.ts is not valid:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`);
};

/** A consumer that was away for a week must find what it missed. */
const MIN_EVENT_RETENTION_MS = 7 * DAY_MS;

const checkConsumers = ({ consumers, projects, events }: Config): string[] => {
  const lost = Object.entries(consumers)
    .filter(([, { project }]) => !(project in projects))
    .map(([consumer, { project }]) => `consumers.${consumer}.project: there is no project ${project}`);
  const isTooShort = Object.keys(consumers).length > 0 && events.retentionMs < MIN_EVENT_RETENTION_MS;
  return isTooShort ? [...lost, 'events.retentionMs: must be 7 days or more where there are consumers'] : lost;
};

export const listDomains = (config: Config, project: string): string[] =>
  Object.keys(config.projects[project]?.domains ?? {});

export const hasRelay = (config: Config, project: string): boolean => config.projects[project]?.relay ?? false;

/** Whether agents on NATS serve the domain. */
export const isServedOverNats = (config: Config, project: string, domain: string | undefined): boolean =>
  domain !== undefined && config.projects[project]?.domains[domain]?.transport === 'nats';
