import * as z from 'zod';
import { ParleyError } from '../../kernel/errors.ts';
import { broadcastRef } from '../../model/broadcast.ts';
import { toIso } from '../../ports/clock.ts';
import { defineRoute, type Route } from '../route.ts';

export const broadcastRoutes: Route[] = [
  defineRoute({
    operationId: 'getBroadcast',
    method: 'GET',
    path: '/v1/broadcasts/{id}',
    summary: 'Get the progress of a broadcast',
    responses: {
      200: {
        description: 'The broadcast',
        schema: z.object({
          id: z.string(),
          from: z.string(),
          audience: z.string(),
          delivered: z.number(),
          failed: z.number().describe('agents with a full inbox, or that the command did not apply to'),
          isDone: z.boolean(),
          sentAt: z.iso.datetime(),
        }),
      },
      404: { description: 'No such message' },
    },
    handle: async ({ deps, caller, params: { id = '' } }) => {
      const found = await deps.records.get(broadcastRef(caller.project, id));
      if (!found || (caller.role === 'agent' && caller.registered.agent.id !== found.from)) {
        throw new ParleyError('not_found', `There is no message to many ${id}.`);
      }
      const { from, audience, deliveredCount, failedCount, completedAt, createdAt } = found;
      const sentAt = toIso(createdAt);
      return {
        status: 200,
        body: {
          id,
          from,
          audience,
          delivered: deliveredCount,
          failed: failedCount,
          isDone: completedAt !== undefined,
          sentAt,
        },
      };
    },
  }),
];
