import type { Json, JsonObject } from '../kernel/json/json.ts';
import { ApiProblem } from './api.ts';
import { isModern, type McpCall } from './mcp-call.ts';
import { RPC_CODES, RpcError } from './rpc-error.ts';

type RequestId = McpCall['id'];

export const buildRpcResultResponse = (id: RequestId, result: JsonObject): JsonObject => ({
  jsonrpc: '2.0',
  id,
  result,
});

export const buildRpcErrorResponse = (id: RequestId | undefined, { code, message, data }: RpcError): JsonObject => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  error: { code, message, ...(data !== undefined && { data }) },
});

/** What Parley's API refused; undefined for what is no such error. */
export const toRpcError = (error: unknown): RpcError | undefined => {
  if (error instanceof RpcError) return error;
  if (!(error instanceof ApiProblem)) return undefined;
  const code = error.status < 500 ? RPC_CODES.invalidParams : RPC_CODES.internal;
  return new RpcError(code, error.message, error.problem as Json);
};

/** In the earlier era, clients take any other status than 200 for a failure of the transport. */
export const getErrorStatus = (call: McpCall | undefined, { status }: RpcError): number =>
  call && !isModern(call) ? 200 : status;
