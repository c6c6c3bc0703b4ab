import type { Json } from '../kernel/json/json.ts';
import { ApiProblem } from './api.ts';
import { isModern, type McpCall } from './mcp-call.ts';
import { RPC_CODES, RpcError } from './rpc-error.ts';

/** What Parley's API refused; undefined for what is no such error. */
export const toRpcError = (error: unknown): RpcError | undefined => {
  if (error instanceof RpcError) return error;
  if (!(error instanceof ApiProblem)) return undefined;
  const code = error.status < 500 ? RPC_CODES.invalidParams : RPC_CODES.internalError;
  return new RpcError(code, error.message, error.problem as Json);
};

/** In the earlier era, clients take any other status than 200 for a failure of the transport. */
export const getErrorStatus = (call: McpCall | undefined, { status }: RpcError): number =>
  call && !isModern(call) ? 200 : status;
