import * as z from 'zod';
import { listQueues, type NamedQueue } from '../ports/queue-names.ts';
import { BusTypes, Subscription } from './bus-config.ts';
import { EdgeConfig } from './edge-config.ts';

const HOUR_MS = 60 * 60 * 1000;

/** SQS's limit, `.fifo` included. */
const MAX_QUEUE_NAME_LENGTH = 80;

/**
 * IAM allows 10,240 characters of inline policies per role. A deployment with many queues names them by four patterns of
 * up to 130 characters for each project. Other statements take up to 3,000.
 */
const MAX_PROJECTS = 13;
/** Up to here, policies name each queue. */
export const MAX_QUEUES_NAMED = 54;

/** The values that CloudWatch accepts. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

const positive = z.number().int().positive();

export const AwsConfig = z.strictObject({
  stage: z
    .string()
    .regex(/^[a-z0-9]{1,16}$/, 'must be 1 to 16 of a-z and 0-9')
    .describe('The name of the deployment, a part of all resource names. Two stages are two deployments.'),
  removal: z
    .enum(['retain', 'destroy'])
    .default('retain')
    .describe(
      'Whether the table and the buckets survive the removal of the stack. `retain` also protects them from deletion.',
    ),
  customerKey: z
    .boolean()
    .default(false)
    .describe(
      'Encrypt table, queues, buckets and logs with a KMS key of this deployment. It costs a dollar a month and a little per call.',
    ),
  domain: z
    .strictObject({
      name: z.hostname().describe('The host name of the API.'),
      certificateArn: z
        .string()
        .regex(/^arn:aws[a-z-]*:acm:/, "must be the ARN of a certificate in the stack's region")
        .describe('The ARN of its ACM certificate, in the region of the stack.'),
    })
    .optional()
    .describe('A custom domain for the API.'),
  throttle: z
    .strictObject({
      rate: positive
        .default(3000)
        .describe('Requests per second over all agents, for each of the calls that agents make all the time.'),
      burst: positive.default(5000).describe('How many of them may arrive at the same time.'),
      otherRate: positive
        .default(200)
        .describe('Requests per second for each other route, and for paths that are none.'),
      otherBurst: positive.default(400).describe('How many of them may arrive at the same time.'),
    })
    .prefault({}),
  corsOrigins: z
    .array(z.string().regex(/^(\*|https?:\/\/[^/\s]+)$/, 'must be an origin or *'))
    .min(1)
    .optional()
    .describe('The origins whose pages may call the API from a browser. By default none.'),
  maxTableUnits: z
    .strictObject({
      reads: positive.describe('Read units per second.'),
      writes: positive.describe('Write units per second.'),
    })
    .optional()
    .describe(
      'The most read and write units per second of the table and of each of its indexes: what a flood can cost is bounded. Beyond, calls fail with 503. By default as much as the account allows.',
    ),
  warmThroughput: z
    .strictObject({
      reads: positive.min(12_000).describe('Read units per second.'),
      writes: positive.min(4000).describe('Write units per second.'),
    })
    .optional()
    .describe(
      'What the table and each of its indexes can take at once. A new table takes 12,000 and 4,000, and grows with its load. AWS charges what is above once, when it is set.',
    ),
  concurrency: positive
    .min(10)
    .default(1000)
    .describe(
      'How many functions the account may run at the same time: `aws lambda get-account-settings` says it. A new account may have 10. The next setting, `streamParallelism` and the number of timers follow from it.',
    ),
  longPollSlots: positive
    .optional()
    .describe(
      'How many calls of each project may wait in functions, each of which occupies one. By default 100, or as many as fit into `concurrency`.',
    ),
  waiter: z
    .strictObject({
      cpu: z
        .union([z.literal(256), z.literal(512), z.literal(1024), z.literal(2048)])
        .default(256)
        .describe('CPU units of Fargate: 1024 are a core.'),
      memoryMB: z
        .union([z.literal(512), z.literal(1024), z.literal(2048), z.literal(4096)])
        .default(512)
        .describe('Its memory. Fargate wants at least twice the CPU units, and 512 with 256 of them.'),
    })
    .refine(({ cpu, memoryMB }) => memoryMB >= 2 * cpu, 'memoryMB must be at least twice cpu')
    .optional()
    .describe(
      'A process on Fargate in which claims and inbox calls of all agents wait, for a fixed price. `{}` switches it on. Without it, each waiting call occupies a function.',
    ),
  edge: EdgeConfig.optional().describe(
    'CloudFront with a firewall before the API. Calls that pass them by are refused. Without traffic it costs 7 dollars a month, and 1.60 for a million calls.',
  ),
  canary: z
    .boolean()
    .default(false)
    .describe(
      'Whether new code of the functions behind the API gets a tenth of the calls for five minutes. The alarms for server errors and for errors of functions then bring the old code back.',
    ),
  paused: z.boolean().default(false).describe('Stops stream, queues and schedules while the table is restored.'),
  relay: z
    .strictObject({
      natsServers: z.array(z.string().min(1)).min(1).describe('The addresses of the NATS servers.'),
      tls: z.boolean().default(true).describe('Whether the relay requires TLS.'),
      natsPorts: z
        .array(z.number().int().min(1).max(65_535))
        .min(1)
        .default([4222])
        .describe('The ports of the servers. The relay reaches only these ports and HTTPS.'),
      count: z
        .number()
        .int()
        .min(0)
        .max(10)
        .default(1)
        .describe(
          'Relay processes per project. Set 0 until the relay has a key: a service that does not stay up rolls the deployment back.',
        ),
    })
    .optional()
    .describe('For `-c relay=fargate`: where the relays of the projects find NATS.'),
  streamParallelism: z
    .number()
    .int()
    .min(1)
    .max(10)
    .optional()
    .describe(
      'How many batches of each stream shard each of its readers processes concurrently. By default 2, and 1 where `concurrency` is below 100.',
    ),
  logCalls: z
    .boolean()
    .default(false)
    .describe(
      'Whether the functions log every call with its task, agent and trace, or only those that they refuse. The access log has all calls. A million task cycles log 1.3 GB more.',
    ),
  bus: BusTypes,
  subscriptions: z
    .record(z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -'), Subscription)
    .prefault({})
    .describe('Where events go beside: each is a rule of the bus of its project, with a dead-letter queue of its own.'),
  logDays: z
    .number()
    .refine((days) => LOG_RETENTION_DAYS.includes(days), `must be one of ${LOG_RETENTION_DAYS.join(', ')}`)
    .default(30)
    .describe(
      'How many days CloudWatch stores the logs. CloudWatch accepts 1, 3, 5, 7, 14, 30, 60, 90 and some longer periods.',
    ),
  alarms: z
    .strictObject({
      on: z.boolean().default(true).describe('Whether the stack has alarms.'),
      email: z.email().optional().describe('The address that alarms are sent to.'),
      unauthorizedCalls: positive
        .default(1000)
        .describe('The alarm threshold for calls with a wrong key or none, in five minutes.'),
      throttledCalls: positive
        .default(1000)
        .describe('The alarm threshold for calls refused with 429, in five minutes.'),
      concurrency: positive
        .default(800)
        .describe('The alarm threshold for functions that run at the same time in the account.'),
      oldestMessageMs: positive
        .min(60_000)
        .default(HOUR_MS)
        .describe('The alarm threshold for the age of a queued task. Low priority is excluded.'),
    })
    .prefault({}),
});
export type AwsConfig = z.output<typeof AwsConfig>;

/** Only these fields, so that names are checked even if the rest is invalid. */
const QueueNameConfig = z.object({
  projects: z.record(
    z.string(),
    z.object({ domains: z.record(z.string(), z.unknown()), relay: z.boolean().default(false) }),
  ),
  aws: z.object({ stage: z.string() }),
});

/** Of settings that exclude each other. */
export const checkAwsSettings = ({ edge, domain, subscriptions }: AwsConfig, projects: readonly string[]): string[] => {
  const both = edge && domain ? ['aws.domain: CloudFront stands before the API, so it is aws.edge.domain'] : [];
  const lost = Object.entries(subscriptions).flatMap(([name, { project }]) =>
    projects.includes(project) ? [] : `aws.subscriptions.${name}.project: there is no project ${project}`,
  );
  const names = (field: 'queue' | 'logGroup') => Object.values(subscriptions).flatMap((one) => one[field] ?? []);
  const twice = (['queue', 'logGroup'] as const).flatMap((field) =>
    names(field)
      .filter((name, at, all) => all.indexOf(name) !== at)
      .map((name) => `aws.subscriptions: two of them make the ${field} ${name}`),
  );
  return [...both, ...lost, ...twice];
};

export const buildQueuePrefix = (stage: string): string => `parley-${stage}-`;

export const checkQueueNames = (values: unknown): string[] => {
  const { data } = QueueNameConfig.safeParse(values);
  if (data === undefined) return [];
  const queueKeys = listQueues(data.projects).map((queueKey) => ({
    ...queueKey,
    queue: buildQueuePrefix(data.aws.stage) + queueKey.suffix,
  }));
  const seen = new Map(queueKeys.map((queueKey) => [queueKey.queue, formatConfigPath(queueKey)]));
  const mistakes = queueKeys.flatMap((queueKey) => {
    const { priority, queue } = queueKey;
    const other = seen.get(queue);
    if (other !== formatConfigPath(queueKey))
      return [`${formatConfigPath(queueKey)}: shares the queue ${queue} with ${other}`];
    const tooLong = priority === 'critical' && queue.length > MAX_QUEUE_NAME_LENGTH;
    return tooLong
      ? [
          `${formatConfigPath(queueKey)}: its queue ${queue} has ${queue.length} characters, SQS allows ${MAX_QUEUE_NAME_LENGTH}`,
        ]
      : [];
  });
  const projects = Object.keys(data.projects).length;
  if (projects > MAX_PROJECTS && queueKeys.length > MAX_QUEUES_NAMED)
    mistakes.push(
      `projects: ${projects} with ${queueKeys.length} queues are too many for the policies of one deployment`,
    );
  return mistakes;
};

const formatConfigPath = ({ project, kind, name }: NamedQueue): string =>
  `projects.${project}.${kind === 'relay' ? 'relay' : `domains.${name}`}`;
