import * as z from 'zod';
import type { QueuePause } from '../../identity/queue-pauses.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { toIso } from '../../ports/clock.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { pauseQueue, resumeQueue } from '../../registration/pause-queue.ts';
import {
  type BoundedCount,
  formatQueueId,
  getQueueDomain,
  listQueueStates,
  type QueueName,
  type QueueState,
} from '../../statistics/list-queue-states.ts';
import { RECENT_MINUTES } from '../../statistics/read-recent-traffic.ts';
import { boundedCount, defineKeyRoute, defineRoute, type Route } from '../route.ts';

export const QueueCountView = z
  .object({ value: z.number().int(), isExact: z.boolean() })
  .describe('`isExact` is false where `value` is an estimate');

const QueuePauseView = z.object({
  by: z.string(),
  reason: z.string().optional(),
  since: z.iso.datetime(),
});

const toQueuePauseView = ({ by, reason, since }: QueuePause): z.output<typeof QueuePauseView> => ({
  by,
  reason,
  since: toIso(since),
});

const QueueView = z
  .object({
    id: z.string().describe('`domain:<name>`, `capability:<name>` or `agent:<id>`'),
    domain: z.string().optional(),
    capability: z.string().optional(),
    agent: z.string().optional(),
    paused: z.boolean(),
    pause: QueuePauseView.optional().describe('who paused it'),
    waiting: QueueCountView.describe('tasks that can be claimed now'),
    oldestWaitingSince: z.iso.datetime().optional(),
    inFlight: QueueCountView.describe('tasks of this queue that an agent holds'),
    waitingClaims: z.number().int().optional().describe('claims that wait for this queue. Absent on AWS'),
    limits: z
      .array(z.object({ key: z.string(), reason: z.enum(['concurrency', 'rate']), waiting: z.number().int() }))
      .describe('limits for which tasks of this queue wait. `waiting` counts to 100 for each'),
    recent: z
      .object({
        arrivals: z.number().int().describe('tasks that came into the queue, for the first time or again'),
        claims: z.number().int(),
      })
      .optional()
      .describe(`in the last ${RECENT_MINUTES} minutes and the present one. Absent where there are too many queues`),
    priorities: z.array(
      z.object({
        priority: z.enum(PRIORITIES),
        waiting: QueueCountView,
        oldestWaitingSince: z.iso.datetime().optional(),
      }),
    ),
  })
  .meta({ id: 'Queue' });

const toQueueView = (state: QueueState): z.output<typeof QueueView> => ({
  id: formatQueueId(state),
  domain: getQueueDomain(state),
  capability: state.kind === 'capability' ? state.name : undefined,
  agent: state.kind === 'agent' ? state.name : undefined,
  paused: state.pause !== undefined,
  pause: state.pause && toQueuePauseView(state.pause),
  waiting: toQueueCountView(state.waiting),
  oldestWaitingSince: toIso(state.oldestWaitingSince),
  inFlight: toQueueCountView(state.inFlight),
  waitingClaims: state.waitingClaims,
  limits: state.limits,
  recent: state.recent,
  priorities: state.priorities.map(({ priority, waiting, oldestWaitingSince }) => ({
    priority,
    waiting: toQueueCountView(waiting),
    oldestWaitingSince: toIso(oldestWaitingSince),
  })),
});

export const toQueueCountView = ({ value, isExact }: BoundedCount): z.output<typeof QueueCountView> => ({
  value,
  isExact,
});

const QUEUE_ID = /^(domain|capability|agent):(.{1,128})$/s;

const parseQueueId = (id: string): QueueName => {
  const [, kind, name] = QUEUE_ID.exec(id) ?? [];
  if ((kind === 'domain' || kind === 'capability' || kind === 'agent') && name !== undefined) return { kind, name };
  throw new ParleyError('not_found', `"${id}" is no queue: domain:<name> or capability:<name>.`);
};

const PausedQueue = z.object({ id: z.string(), paused: z.boolean() }).meta({ id: 'PausedQueueResult' });

export const queueRoutes: Route[] = [
  defineRoute({
    operationId: 'listQueues',
    method: 'GET',
    path: '/v1/queues',
    summary: 'List the queues: what waits, since when, and what is in flight. An agent sees those that it claims from',
    query: z.strictObject({
      domain: z.string().max(32).optional().describe('the queues of this domain and of its capabilities'),
      capability: z.string().max(128).optional(),
      agent: z.string().max(64).optional(),
      limit: boundedCount(100, 50),
      cursor: z
        .string()
        .regex(/^(domain|capability|agent):.{1,200}$/s, 'must be one that an earlier page gave')
        .optional(),
    }),
    responses: {
      200: {
        description: 'Domains, then capabilities, then agents, each by name',
        schema: z.object({
          queues: z.array(QueueView),
          isComplete: z.boolean().describe('false with more than 500 agents: then name an `agent`'),
          cursor: z.string().optional(),
        }),
      },
    },
    handle: async ({ deps, caller, query: { cursor, ...filter } }) => {
      const { queues, hasMore, isComplete } = await listQueueStates(deps, caller, { ...filter, after: cursor });
      const last = queues.at(-1);
      const next = hasMore && last ? formatQueueId(last) : undefined;
      return { status: 200, body: { queues: queues.map(toQueueView), isComplete, cursor: next } };
    },
  }),
  defineKeyRoute({
    operationId: 'pauseQueue',
    method: 'POST',
    path: '/v1/queues/{id}/pause',
    summary: 'Pause the queue of a domain or of a capability: its tasks wait, and those that agents hold go on',
    access: 'admin',
    scope: 'operate',
    body: z.strictObject({ reason: z.string().max(1024).optional() }).optional(),
    responses: { 200: { description: 'Paused, now or before', schema: PausedQueue } },
    handle: async ({ deps, caller, params: { id = '' }, body }) => {
      await pauseQueue(deps, caller, parseQueueId(id), body?.reason);
      return { status: 200, body: { id, paused: true } };
    },
  }),
  defineKeyRoute({
    operationId: 'resumeQueue',
    method: 'POST',
    path: '/v1/queues/{id}/resume',
    summary: 'Resume a queue: agents are handed its tasks again',
    access: 'admin',
    scope: 'operate',
    responses: { 200: { description: 'Resumed, now or before', schema: PausedQueue } },
    handle: async ({ deps, caller, params: { id = '' } }) => {
      await resumeQueue(deps, caller, parseQueueId(id));
      return { status: 200, body: { id, paused: false } };
    },
  }),
];
