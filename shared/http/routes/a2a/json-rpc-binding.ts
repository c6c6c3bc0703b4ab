import type { JsonObject } from '../../../kernel/json/json.ts';
import {
  buildJsonRpcError,
  buildJsonRpcResult,
  JSON_RPC_CODES,
  type JsonRpcId,
  parseJsonRpc,
} from '../../../kernel/json-rpc.ts';
import type { RouteCall, RouteResponse } from '../../route.ts';
import { answerInBinding, JSON_TYPE, pickMediaType, toEventStream } from './binding.ts';
import { type EncodedError, isTransportError } from './errors.ts';
import { getNeededScope, isStreaming, isUnary, STREAMING_OPERATIONS, UNARY_OPERATIONS } from './operations.ts';

export const answerJsonRpc = (call: RouteCall): Promise<RouteResponse> => {
  const type = { 'content-type': pickMediaType(call.request, JSON_TYPE) };
  let id: JsonRpcId = null;
  const fail = ({ code, message, details, headers, ...error }: EncodedError): RouteResponse => ({
    status: isTransportError({ code, message, details, headers, ...error }) ? error.http : 200,
    body: buildJsonRpcError(id, { code, message, data: details }),
    headers: { ...type, ...headers },
  });
  return answerInBinding(
    call,
    async (received, toCall) => {
      const parsed = parseJsonRpc(received);
      if (parsed.error) return { status: 200, body: buildJsonRpcError(parsed.id, parsed.error), headers: type };
      const { request } = parsed;
      id = request.id ?? null;
      const { method, params } = request;
      if (!isUnary(method) && !isStreaming(method)) {
        const message = `There is no method ${method.slice(0, 64)}.`;
        const unknown = { code: JSON_RPC_CODES.methodNotFound, message };
        return { status: 200, body: buildJsonRpcError(id, unknown), headers: type };
      }
      const tenant = typeof params.tenant === 'string' ? params.tenant : undefined;
      const asked = await toCall(getNeededScope(method), tenant);
      if (isUnary(method)) {
        const result = await UNARY_OPERATIONS[method](asked, params);
        return { status: 200, body: buildJsonRpcResult(id, result), headers: type };
      }
      const pieces = await STREAMING_OPERATIONS[method](asked, params);
      const encode = (piece: JsonObject): JsonObject => buildJsonRpcResult(id, piece);
      return { status: 200, stream: toEventStream(pieces, encode), endsByItself: true };
    },
    fail,
  );
};
