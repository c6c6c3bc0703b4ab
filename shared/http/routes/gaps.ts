import * as z from 'zod';
import type { Deps } from '../../identity/deps.ts';
import { closeGap, GAP_STATUSES, listGaps } from '../../messaging/direct-messages/gaps.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import { toIso } from '../../ports/clock.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { loadContent } from '../../storage/content.ts';
import { boundedCount, defineRoute, type Route, timeOrderedCursor } from '../route.ts';

const GapView = z
  .object({
    id: z.string(),
    type: z.string(),
    from: z.string(),
    to: z.string(),
    status: z.enum(GAP_STATUSES),
    priority: z.enum(PRIORITIES),
    openedAt: z.iso.datetime(),
    closedAt: z.iso.datetime().optional(),
    content: z.unknown().optional(),
  })
  .meta({ id: 'Gap' });

const toGapView = async (deps: Deps, directMessage: DirectMessage): Promise<z.output<typeof GapView>> => ({
  id: directMessage.id,
  type: directMessage.type,
  from: directMessage.from,
  to: directMessage.to,
  status: directMessage.closedAt === undefined ? 'open' : 'closed',
  priority: directMessage.priority,
  openedAt: toIso(directMessage.createdAt),
  closedAt: toIso(directMessage.closedAt),
  content: await loadContent(deps.blobs, directMessage.project, directMessage.content),
});

export const gapRoutes: Route[] = [
  defineRoute({
    operationId: 'listGaps',
    method: 'GET',
    path: '/v1/gaps',
    summary: 'List the gaps that agents reported, newest first',
    query: z.strictObject({
      status: z.enum(GAP_STATUSES).default('open'),
      limit: boundedCount(100, 20),
      cursor: timeOrderedCursor.optional(),
    }),
    responses: {
      200: {
        description: 'A page. With a `cursor` there may be more',
        schema: z.object({ gaps: z.array(GapView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { gaps, cursor } = await listGaps(deps, caller, query);
      return {
        status: 200,
        body: { gaps: await Promise.all(gaps.map((directMessage) => toGapView(deps, directMessage))), cursor },
      };
    },
  }),
  defineRoute({
    operationId: 'closeGap',
    method: 'POST',
    path: '/v1/gaps/{from}/{id}/close',
    scope: 'operate',
    summary: 'Close a gap',
    responses: { 200: { description: 'The gap', schema: GapView }, 404: { description: 'No such gap' } },
    handle: async ({ deps, caller, params }) => {
      const directMessage = await closeGap(deps, caller, params.from ?? '', params.id ?? '');
      return { status: 200, body: await toGapView(deps, directMessage) };
    },
  }),
];
