import type { JsonObject } from '../kernel/json/json.ts';

/** What a method answers with: a result, or notifications and then a result. */
export type McpAnswer = JsonObject | AsyncGenerator<JsonObject, JsonObject>;

export const isStreamed = (answer: McpAnswer): answer is AsyncGenerator<JsonObject, JsonObject> =>
  Symbol.asyncIterator in answer;

export const buildNotification = (method: string, params: JsonObject): JsonObject => ({
  jsonrpc: '2.0',
  method,
  params,
});
