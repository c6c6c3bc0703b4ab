import { getTurn } from '../../turns/queries/get-turn.ts';
import { parseStreamPosition, STREAM_START } from '../../turns/streams/chunk-sequencer.ts';
import { streamChunks } from '../../turns/streams/stream-chunks.ts';
import { getLastEventId } from '../http-message.ts';
import { defineRoute, type Route } from '../route.ts';

export const turnStreamRoutes: Route[] = [
  defineRoute({
    operationId: 'streamTurn',
    method: 'GET',
    path: '/v1/turns/{agent_turn_id}/stream',
    summary: 'Stream the output of a turn as server-sent events, from its beginning or from `Last-Event-ID`',
    headers: { 'Last-Event-ID': 'the position of a reader that reconnects' },
    responses: {
      200: { description: 'Events of the type `chunk`, and `end` when the turn ends', otherType: 'text/event-stream' },
      404: { description: 'No such turn' },
    },
    handle: async ({ deps, caller, params, request, longPoll }) => {
      const id = params.agent_turn_id ?? '';
      const last = getLastEventId(request);
      // Once a stream has begun, it is too late to refuse anything.
      const position = last === undefined ? STREAM_START : parseStreamPosition(last, deps.clock.now());
      await getTurn(deps, caller, id);
      return { status: 200, stream: streamChunks(deps, caller, id, position, longPoll.startStream()) };
    },
  }),
];
