import * as z from 'zod';
import { CHANNEL_ID, PUBLIC_CHANNEL } from '../kernel/ids.ts';
import { AwsConfig, checkAwsSettings, checkQueueNames } from './aws-config.ts';
import { checkConcurrency, planConcurrency } from './concurrency.ts';
import { checkDialectSettings, DialectSettings } from './dialect-settings.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Of projects and of domains. */
export const ConfiguredName = z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -');
const name = ConfiguredName;
const positive = z.number().int().positive();

const DomainConfig = z.strictObject({
  description: z.string().describe('Shown to agents that list the domains.'),
  transport: z
    .enum(['http', 'nats'])
    .default('http')
    .describe('How the agents of this domain connect. A domain never has both. `nats` needs `relay: true`.'),
});

/** As `LimitNumbers`: the schema of the API has the same bounds. */
const TaskLimitConfig = z.strictObject({
  concurrency: positive.max(1000).optional().describe('How many tasks of the key run at once.'),
  rate: z
    .strictObject({
      starts: positive.max(1_000_000).describe('How many tasks start.'),
      seconds: positive.max(7 * 86_400).describe('In any stretch of so many seconds.'),
    })
    .optional()
    .describe('How many tasks of the key start in any stretch of so many seconds.'),
});

const ProjectConfig = z
  .strictObject({
    domains: z.record(name, DomainConfig).describe('The domains that tasks can be addressed to.'),
    relay: z
      .boolean()
      .default(false)
      .describe('Whether agents on NATS take part. A relay then carries messages between NATS and Parley.'),
    taskLimits: z
      .record(z.string().regex(/^[A-Za-z0-9][\w.:@*-]{0,127}$/, 'must be a key of limits'), TaskLimitConfig)
      .optional()
      .describe(
        'Limits of keys. `domain:<name>`, `capability:<name>` and `requester:<id>` hold for all their tasks, and `*` as the name for each of them. `PUT /v1/limits/{key}` replaces one.',
      ),
  })
  .refine(({ domains, relay }) => relay || Object.values(domains).every(({ transport }) => transport === 'http'), {
    error: "has a domain with via: 'nats' and needs relay: true",
  });
export type ProjectConfig = z.output<typeof ProjectConfig>;

/** `npm run docs` writes docs/reference/configuration.md from this schema. */
export const Config = z.strictObject({
  projects: z
    .record(name, ProjectConfig)
    .describe('Each project has its own domains, agents, keys and tasks.')
    // `parley.dead-letters.>` on NATS holds rejected messages.
    .refine((projects) => projects['dead-letters']?.relay !== true, {
      error: 'a project with a relay cannot be called dead-letters',
    }),
  dialects: DialectSettings.prefault({}),
  tasks: z
    .strictObject({
      leaseMs: positive
        .default(5 * MINUTE_MS)
        .describe('The lease of a claim that names no other. Progress and heartbeats renew it.'),
      maxLeaseMs: positive
        .default(60 * MINUTE_MS)
        .describe('The longest lease that a claim or an estimate of the holder may ask for.'),
      maxSilentWorkMs: positive
        .default(4 * 60 * MINUTE_MS)
        .describe('How long heartbeats alone renew a lease, while the holder reports nothing about the task.'),
      maxAttempts: positive.default(3).describe('How many attempts a task has before it becomes a dead letter.'),
      retentionMs: positive.default(7 * DAY_MS).describe('How long a finished task is stored.'),
      rememberMs: positive
        .optional()
        .describe(
          'How long the id of a request is known after it was accepted, so that a late repetition creates no second task. By default as long as the task is stored. A time above `retentionMs` costs one more record for each task.',
        ),
      fairness: z
        .enum(['requester', 'conversation', 'none'])
        .default('requester')
        .describe(
          'Who has turns in a queue and priority: requesters, conversations, or nobody. Without turns, what was queued first comes first.',
        ),
      requeueMs: positive
        .default(10 * MINUTE_MS)
        .describe(
          'An unclaimed task is requeued after this time, in case its queue message was lost. The time doubles with each requeue.',
        ),
      retryMs: positive
        .default(SECOND_MS)
        .describe('The delay before the second attempt. It doubles with each attempt.'),
      maxRetryMs: positive.default(5 * MINUTE_MS).describe('The longest delay between two attempts.'),
    })
    .prefault({}),
  cards: z
    .strictObject({
      retentionMs: positive
        .default(30 * DAY_MS)
        .describe(
          'How long a box is stored after its last write, and a card after its last use. A card may keep only half of this time.',
        ),
      // 50 bytes per card: 2,000 take 100 KB of the 400 KB of a DynamoDB item.
      perBox: positive.max(2000).default(500).describe('How many cards a box may have.'),
    })
    .prefault({}),
  turns: z
    .strictObject({
      repeatWakeupMs: positive
        .default(10 * SECOND_MS)
        .describe('The interval of wake-ups for a turn that was leased and not started, or that can resume.'),
      startTimeoutMs: positive
        .default(30 * SECOND_MS)
        .describe('A leased turn that does not start within this time is reaped.'),
      heartbeatTimeoutMs: positive
        .default(5 * MINUTE_MS)
        .describe('A running turn without a sign of life for this long is reaped.'),
      wakeupMs: positive
        .default(5 * SECOND_MS)
        .describe('The time until the first repeated wake-up for a queued turn. It grows with each repetition.'),
      toolTimeoutMs: positive
        .default(15 * MINUTE_MS)
        .describe('How long a suspended turn waits for its tools, unless it names a deadline.'),
      maxRecursionDepth: positive.default(20).describe('Calls of this depth or deeper are rejected.'),
      retentionMs: positive.default(7 * DAY_MS).describe('How long a finished turn is stored.'),
    })
    .prefault({}),
  events: z
    .strictObject({
      retentionMs: positive
        .default(30 * DAY_MS)
        .describe('How long an event is stored. At least 7 days if there are consumers.'),
    })
    .prefault({}),
  outbound: z
    .strictObject({
      allowPrivateAddresses: z
        .boolean()
        .default(false)
        .describe('Whether webhooks and agents may be called at private addresses, and without TLS.'),
      timeoutMs: positive.default(15 * SECOND_MS).describe('How long Parley waits for the answer to a webhook.'),
    })
    .prefault({})
    .describe('What Parley calls: webhooks, push notifications, and agents that have an address.'),
  tracing: z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe(
          'The collector that gets spans of tasks and turns over OTLP/HTTP, such as `http://localhost:4318`. Without it, none are exported. On one machine, `OTEL_EXPORTER_OTLP_ENDPOINT` sets it.',
        ),
      headers: z
        .record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/), z.string().max(4096).describe('The value of a header.'))
        .default({})
        .describe('Sent with each export. On one machine, `OTEL_EXPORTER_OTLP_HEADERS` sets them.'),
      serviceName: z.string().min(1).max(128).default('parley').describe('The `service.name` of the spans.'),
    })
    .prefault({}),
  consumers: z
    .record(
      name,
      z.strictObject({
        project: name.default('default').describe('The project whose events it reads.'),
        types: z
          .array(z.string().min(1).max(128))
          .min(1)
          .describe('Event types, such as `task.completed`, or a prefix with a star: `task.*`.'),
        agents: z
          .array(z.string())
          .default([])
          .describe('The agents that may read as this consumer. Admin keys always may.'),
        channels: z
          .array(z.string().regex(CHANNEL_ID, 'must be public, u_<user> or t_<thread>'))
          .default([PUBLIC_CHANNEL])
          .describe('The channels whose events it reads. Its agents need access to all of them.'),
      }),
    )
    .prefault({})
    .describe('Durable consumers of events. Each has one cursor, which all its instances share.'),
  auditLog: z
    .record(z.string(), z.boolean().describe('Whether `GET /v1/audit-log` shows the messages of this dialect.'))
    .prefault({})
    .describe('The audit log, by dialect. The dialect decides the default.'),
  agents: z
    .strictObject({
      heartbeatMs: positive.default(MINUTE_MS).describe('The interval at which agents send heartbeats.'),
      silentPeriods: positive
        .default(3)
        .describe('An agent is offline after this many intervals without a sign of life.'),
      instanceMs: positive.default(MINUTE_MS).describe('How long an instance of an agent is live after its last call.'),
    })
    .prefault({}),
  mcp: z
    .strictObject({
      origins: z
        .array(z.string().max(253))
        .default([])
        .describe(
          'Origins of web pages that may call `/mcp`, such as `https://app.example`. Pages of this machine always may.',
        ),
    })
    .prefault({}),
  limits: z
    .strictObject({
      bodyBytes: positive.default(4 * 1024 * 1024).describe('The largest request body.'),
      inputBytes: positive
        .default(1024 * 1024)
        .describe('The largest input of a task. NATS messages carry 1 MiB by default.'),
      outputBytes: positive
        .default(2 * 1024 * 1024)
        .describe('The largest result or card. With the input it must fit into a Lambda response of 6 MB.'),
      extensionBytes: positive
        .default(64 * 1024)
        .describe('The largest extensions of a message. They are part of a record, and a DynamoDB item holds 400 KB.'),
      batch: positive.default(25).describe('How many messages one call of `POST /v1/messages` may send.'),
      callsPerMinute: positive
        .optional()
        .describe(
          'Calls of one agent or operator in a minute, counted in stretches of 10 s. By default 6000 on AWS, and any number on one machine. Not for the key `admin` and for relays.',
        ),
      streamsPerKey: positive.default(16).describe('How many event streams and turn streams one key may have open.'),
      waitsPerKey: positive.default(256).describe('How many calls of one key may wait at the same time.'),
      // At 3,500 requests per second, 256 take 75 ms and the 128 of one key 40 ms. More adds latency, not throughput.
      inFlight: z
        .strictObject({
          requests: positive.default(256).describe('All requests in flight.'),
          requestsPerKey: positive.default(128).describe('Requests of one key in flight.'),
          bytes: positive
            .default(32 * 1024 * 1024)
            .describe('Bodies of all requests in flight. 32 MiB of JSON take a process about half a second.'),
          bytesPerKey: positive.default(16 * 1024 * 1024).describe('Bodies of the requests of one key in flight.'),
        })
        .prefault({})
        .describe('What one process works on at the same time. Waiting calls do not count.'),
      connections: positive
        .default(5000)
        .describe('Open connections of one process. Each waiting agent has one; Linux allows as many as `ulimit -n`.'),
      failedKeysPerMinute: positive
        .default(60)
        .describe(
          'Wrong keys from one address. Beyond this limit a wrong key gets `429`; valid keys are not affected.',
        ),
    })
    .prefault({}),
  aws: AwsConfig.optional().describe('Settings for a deployment to AWS, checked against the limits of AWS.'),
});
export type Config = z.output<typeof Config>;
export type ConfigInput = z.input<typeof Config>;

export class ConfigError extends Error {}

/** Throws one error that lists every mistake. */
export const defineConfig = (values: z.input<typeof Config>): Config => {
  const parsed = Config.safeParse(values);
  const issues = parsed.error?.issues ?? [];
  const mistakes = [
    ...issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
    ...checkQueueNames(values),
    ...(parsed.data?.aws ? checkAwsSettings(parsed.data.aws, Object.keys(parsed.data.projects)) : []),
    ...(parsed.data?.aws ? checkConcurrency(parsed.data.aws, Object.keys(parsed.data.projects).length) : []),
    ...(parsed.data ? checkConsumers(parsed.data) : []),
    ...(parsed.data ? checkDialectSettings(parsed.data.dialects, Object.keys(parsed.data.projects)) : []),
  ];
  if (parsed.success && mistakes.length === 0) return withPlannedSlots(parsed.data);
  throw new ConfigError(`The configuration is not valid:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`);
};

/** The functions that count waiting calls know no plan. */
const withPlannedSlots = (config: Config): Config => {
  const { aws, projects } = config;
  if (!aws) return config;
  const { longPollSlots } = planConcurrency(aws, Object.keys(projects).length);
  return { ...config, aws: { ...aws, longPollSlots } };
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
