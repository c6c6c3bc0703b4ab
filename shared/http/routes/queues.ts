import * as z from 'zod';
import { toIso } from '../../ports/clock.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import {
  type BoundedCount,
  formatQueueId,
  getQueueDomain,
  listQueueStates,
  type QueueState,
} from '../../statistics/list-queue-states.ts';
import { RECENT_MINUTES } from '../../statistics/read-recent-traffic.ts';
import { boundedCount, defineRoute, type Route } from '../route.ts';

const CountView = z
  .object({ value: z.number().int(), isExact: z.boolean() })
  .describe('`isExact` is false where `value` is an estimate');

const QueueView = z
  .object({
    id: z.string().describe('`domain:<name>`, `capability:<name>` or `agent:<id>`'),
    domain: z.string().optional(),
    capability: z.string().optional(),
    agent: z.string().optional(),
    paused: z.boolean(),
    waiting: CountView.describe('tasks that can be claimed now'),
    oldestWaitingSince: z.iso.datetime().optional(),
    inFlight: CountView.describe('tasks of this queue that an agent holds'),
    waitingClaims: z.number().int().optional().describe('claims that wait for this queue. Absent on AWS'),
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
        waiting: CountView,
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
  paused: state.isPaused,
  waiting: toCountView(state.waiting),
  oldestWaitingSince: toIso(state.oldestWaitingSince),
  inFlight: toCountView(state.inFlight),
  waitingClaims: state.waitingClaims,
  recent: state.recent,
  priorities: state.priorities.map(({ priority, waiting, oldestWaitingSince }) => ({
    priority,
    waiting: toCountView(waiting),
    oldestWaitingSince: toIso(oldestWaitingSince),
  })),
});

const toCountView = ({ value, isExact }: BoundedCount): z.output<typeof CountView> => ({ value, isExact });

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
];
