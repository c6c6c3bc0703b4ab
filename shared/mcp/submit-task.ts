import { OWN_DIALECT } from '../dialects/registry.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { InternalApi } from './api.ts';
import type { McpContext } from './context.ts';

/** In the dialect of Parley itself, whatever that of the agent is. */
export const sendOwnMessage = (
  api: InternalApi,
  message: JsonObject,
  headers: Record<string, string> = {},
): Promise<JsonObject> =>
  api.call('POST', '/v1/messages', { body: message, headers: { ...headers, 'parley-dialect': OWN_DIALECT } });

interface SubmitRequest {
  capability: string;
  input?: Json | undefined;
  to?: string | undefined;
  priority?: string | undefined;
  ttlSeconds?: number | undefined;
  idempotencyKey?: string | undefined;
}

/** The id of the task, once it is durable. */
export const submitTask = async (
  { api, call, agent, newId, sign }: McpContext,
  { capability, input, to = agent, priority, ttlSeconds, idempotencyKey }: SubmitRequest,
): Promise<string> => {
  const id = idempotencyKey === undefined ? newId() : await deriveTaskId(sign, idempotencyKey);
  const message: JsonObject = {
    kind: 'request',
    id,
    capability,
    ...(input !== undefined && { input }),
    ...(to !== undefined && { to }),
    ...(priority !== undefined && { priority }),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
  };
  await sendOwnMessage(api, message, call.traceparent === undefined ? {} : { traceparent: call.traceparent });
  return id;
};

/** Signed, so that nobody else can take the id of another's task in advance. */
const deriveTaskId = async (sign: McpContext['sign'], key: string): Promise<string> =>
  `mcp-${(await sign(`task/${key}`)).slice(0, 32)}`;
