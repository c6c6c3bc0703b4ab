import * as z from 'zod';
import { listQueues, type NamedQueue } from '../ports/queue-names.ts';

const HOUR_MS = 60 * 60 * 1000;

/** SQS's own bound, `.fifo` included. */
const MAX_QUEUE_NAME_LENGTH = 80;

/**
 * A role's own policies hold 10,240 characters together, and each lane is named in them by its ARN: at most 54 characters
 * (`arn:aws-us-gov:sqs:ap-southeast-1:123456789012:`, quotes, comma) before its name. The other statements take up to 3,000.
 */
const POLICY_CHARACTERS_FOR_QUEUES = 10_240 - 3_000;
const ARN_CHARACTERS_BEFORE_NAME = 54;

/** What CloudWatch accepts. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

const positive = z.number().int().positive();

/** What an account needs to know beside the rest. One deployment is one stage. */
export const AwsConfig = z.strictObject({
  stage: z.string().regex(/^[a-z0-9]{1,16}$/, 'must be 1 to 16 of a-z and 0-9'),
  /** What becomes of the table and the buckets when the stack is removed; what is retained is protected from deletion too. */
  removal: z.enum(['retain', 'destroy']).default('retain'),
  /** A KMS key of this deployment's own for table, queues, buckets and logs. It costs a dollar a month and a little per call. */
  customerKey: z.boolean().default(false),
  domain: z
    .strictObject({
      name: z.hostname(),
      certificateArn: z
        .string()
        .regex(/^arn:aws[a-z-]*:acm:/, "must be the ARN of a certificate in the stack's region"),
    })
    .optional(),
  /** Calls a second over all agents, and how many may come at once. */
  throttle: z.strictObject({ rate: positive.default(1000), burst: positive.default(2000) }).prefault({}),
  /** How many calls of each project may wait at once. Each occupies a function, of which a new account has 10. */
  longPollSlots: positive.default(100),
  /** Nothing runs by itself: stream, queues and schedules stand still, for as long as the table is being restored. */
  paused: z.boolean().default(false),
  /** For `-c relay=fargate`: where the relays of the projects find NATS. */
  relay: z
    .strictObject({
      natsServers: z.array(z.string().min(1)).min(1),
      tls: z.boolean().default(true),
      /** The ports at which the servers listen; only these, and HTTPS, can be reached. */
      natsPorts: z.array(z.number().int().min(1).max(65_535)).min(1).default([4222]),
      /** None while there is no key for them yet: a service whose tasks do not stay up is rolled back, and the deployment with it. */
      count: z.number().int().min(0).max(10).default(1),
    })
    .optional(),
  /** How many batches of each stream shard are worked on at once. */
  streamParallelism: z.number().int().min(1).max(10).default(2),
  logDays: z
    .number()
    .refine((days) => LOG_RETENTION_DAYS.includes(days), `must be one of ${LOG_RETENTION_DAYS.join(', ')}`)
    .default(30),
  alarms: z
    .strictObject({
      on: z.boolean().default(true),
      email: z.email().optional(),
      /** A task that waited so long in a lane (but for low priority, which may wait) means that its domain has no agents left. */
      oldestMessageMs: positive.min(60_000).default(HOUR_MS),
    })
    .prefault({}),
});
export type AwsConfig = z.output<typeof AwsConfig>;

/** As much of a configuration as the lanes' names need, so that they are checked even where the rest is wrong. */
const QueueNameConfig = z.object({
  projects: z.record(
    z.string(),
    z.object({ domains: z.record(z.string(), z.unknown()), relay: z.boolean().default(false) }),
  ),
  aws: z.object({ stage: z.string() }),
});

export const buildQueuePrefix = (stage: string): string => `parley-${stage}-`;

/** What is wrong with the names of the queues, and with how many there are. */
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
  const characters = queueKeys.reduce((sum, { queue }) => sum + ARN_CHARACTERS_BEFORE_NAME + queue.length, 0);
  if (characters > POLICY_CHARACTERS_FOR_QUEUES) {
    mistakes.push(
      `projects: the names of ${queueKeys.length} queues take ${characters} characters of a policy, ` +
        `which has ${POLICY_CHARACTERS_FOR_QUEUES} for them: take fewer or shorter names, or a second deployment`,
    );
  }
  return mistakes;
};

const formatConfigPath = ({ project, kind, name }: NamedQueue): string =>
  `projects.${project}.${kind === 'relay' ? 'relay' : `domains.${name}`}`;
