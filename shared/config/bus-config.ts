import * as z from 'zod';

const name = z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -');
const type = z
  .string()
  .regex(/^(\*|[a-z_]+(\.[a-z_]+)*(\.\*)?)$/, 'must be an event type, such as task.completed, or a prefix: task.*');
const topic = z
  .string()
  .max(128)
  .regex(/^[\w-]+(\.[\w-]+)*(\.\*)?$/, 'must be a capability, such as security.briefing, or a prefix: security.*');

/** How tasks, batches, graphs and turns ended. */
const ENDS = [
  'task.completed',
  'task.failed',
  'task.expired',
  'task.cancelled',
  'batch.ended',
  'graph.ended',
  'evt.agent.task',
];

export const BusTypes = z
  .array(type)
  .min(1)
  .default(ENDS)
  .describe(
    'Which events go to the EventBridge bus of their project, beside those that a subscription names: types, or prefixes such as `task.*`. By default how tasks, batches, graphs and turns ended. Each event costs a dollar a million.',
  );

const arnOf = (service: string) =>
  z.string().regex(new RegExp(`^arn:aws[a-z-]*:${service}:`), `must be an ARN of ${service}`);

export const Subscription = z
  .strictObject({
    project: name.default('default').describe('The project whose events they are.'),
    types: z.array(type).min(1).optional().describe('Event types or prefixes. By default those of `aws.bus`.'),
    topics: z
      .array(topic)
      .min(1)
      .optional()
      .describe('Only events of tasks with these capabilities or prefixes, such as `security.*`.'),
    queue: name.optional().describe('The name of a queue that the stack makes: `parley-<stage>-to-<name>`.'),
    logGroup: name
      .optional()
      .describe('The name of a log group that the stack makes: `/aws/events/parley-<stage>/<name>`.'),
    function: arnOf('lambda').optional().describe('The ARN of a function of the same account.'),
    bus: arnOf('events').optional().describe('The ARN of another EventBridge bus.'),
  })
  .refine(({ queue, logGroup, function: lambda, bus }) => [queue, logGroup, lambda, bus].filter(Boolean).length === 1, {
    error: 'needs exactly one of queue, logGroup, function and bus',
  });
export type Subscription = z.output<typeof Subscription>;
