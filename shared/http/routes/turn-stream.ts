import { placeIn, START } from '../../streams/chunk-order.ts';
import { chunkStream } from '../../streams/follow-chunks.ts';
import { findTurn } from '../../turns/look-up.ts';
import { lastEventIdOf } from '../http-message.ts';
import { noBody, noQuery, type Route, route } from '../route.ts';

export const turnStreamRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/turns/{agent_turn_id}/stream',
    summary:
      'What the agent says while it works on a turn (str.agent.{id}.chunk), as server-sent events, from the beginning or from Last-Event-ID on',
    query: noQuery,
    body: noBody,
    headers: { 'Last-Event-ID': 'where a reader was that comes back' },
    answers: {
      200: { description: 'Events of the type chunk, and end when the turn is over', otherType: 'text/event-stream' },
      404: { description: 'No such turn' },
    },
    handle: async ({ deps, caller, params, request }) => {
      const id = params.agent_turn_id ?? '';
      const last = lastEventIdOf(request);
      // Once a stream has begun, it is too late to refuse anything.
      const place = last === undefined ? START : placeIn(last, deps.clock.now());
      await findTurn(deps, caller, id);
      return { status: 200, stream: chunkStream(deps, caller, id, place, request.signal) };
    },
  }),
];
