import type { JsonObject } from '../kernel/json/json.ts';
import { buildJsonRpcError, buildJsonRpcResult } from '../kernel/json-rpc.ts';
import type { McpCall } from './mcp-call.ts';
import { toRpcError } from './responses.ts';

export const toSsePiece = (message: JsonObject): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** The JSON of the events in a piece of a stream. */
export const readSseData = (piece: string): JsonObject[] =>
  piece
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as JsonObject);

/** Notifications as they come, and the response at the end. */
export async function* streamAnswer(
  id: McpCall['id'],
  answer: AsyncGenerator<JsonObject, JsonObject>,
): AsyncGenerator<string> {
  try {
    for (;;) {
      const { value, done } = await answer.next();
      yield toSsePiece(done ? buildJsonRpcResult(id, value) : value);
      if (done) return;
    }
  } catch (error) {
    const known = toRpcError(error);
    if (!known) throw error;
    yield toSsePiece(buildJsonRpcError(id, known));
  } finally {
    await answer.return({});
  }
}
