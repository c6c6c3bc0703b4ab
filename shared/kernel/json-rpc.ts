import type { ParleyError } from './errors.ts';
import { isObject, type Json, type JsonObject } from './json/json.ts';

/** JSON-RPC 2.0, for the protocols that are spoken in it. A call is one request: batches are not taken. */

export const JSON_RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

export type JsonRpcId = string | number | null;

export interface JsonRpcError {
  code: number;
  message: string;
  data?: Json | undefined;
}

export interface JsonRpcRequest {
  /** Absent for a notification, which gets no answer. */
  id?: JsonRpcId;
  method: string;
  params: JsonObject;
}

type ParsedJsonRpc =
  | { request: JsonRpcRequest; error?: undefined }
  | { error: JsonRpcError; id: JsonRpcId; request?: undefined };

const isId = (id: unknown): id is JsonRpcId => id === null || typeof id === 'string' || typeof id === 'number';

/** A body, parsed as JSON before. */
export const parseJsonRpc = (body: unknown): ParsedJsonRpc => {
  if (!isObject(body)) return invalidRequest(null, 'The body must be one JSON-RPC request.');
  const { jsonrpc, id, method, params = {} } = body;
  const known = isId(id) ? id : null;
  if (jsonrpc !== '2.0') return invalidRequest(known, 'jsonrpc must be "2.0".');
  if (id !== undefined && !isId(id)) return invalidRequest(null, 'id must be a string, a number or null.');
  if (typeof method !== 'string') return invalidRequest(known, 'method must be a string.');
  if (!isJsonObject(params)) {
    return { id: known, error: { code: JSON_RPC_CODES.invalidParams, message: 'params must be an object.' } };
  }
  return { request: { ...(id !== undefined && { id }), method, params } };
};

/** What comes from JSON and is an object has members that are JSON. */
const isJsonObject = (value: unknown): value is JsonObject => isObject(value);

const invalidRequest = (id: JsonRpcId, message: string): ParsedJsonRpc => ({
  id,
  error: { code: JSON_RPC_CODES.invalidRequest, message },
});

/** Of a body that could not be read at all. */
export const toJsonRpcParseError = ({ message }: ParleyError): JsonRpcError => ({
  code: JSON_RPC_CODES.parseError,
  message,
});

export const buildJsonRpcResult = (id: JsonRpcId, result: Json): JsonObject => ({ jsonrpc: '2.0', id, result });

/** Without an id where a protocol does not allow null for one that is not known. */
export const buildJsonRpcError = (id: JsonRpcId | undefined, { code, message, data }: JsonRpcError): JsonObject => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  error: { code, message, ...(data !== undefined && { data }) },
});
