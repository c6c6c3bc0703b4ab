import type { Json } from '../kernel/json/json.ts';
import { JSON_RPC_CODES } from '../kernel/json-rpc.ts';

/** Those of JSON-RPC, and those that MCP 2026-07-28 adds. */
export const RPC_CODES = {
  ...JSON_RPC_CODES,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;
type RpcCode = (typeof RPC_CODES)[keyof typeof RPC_CODES];

/** Other errors come with 200: they are the answer of a method. */
const HTTP_STATUS: Partial<Record<RpcCode, number>> = {
  [RPC_CODES.parseError]: 400,
  [RPC_CODES.invalidRequest]: 400,
  [RPC_CODES.methodNotFound]: 404,
  [RPC_CODES.headerMismatch]: 400,
  [RPC_CODES.missingCapability]: 400,
  [RPC_CODES.unsupportedVersion]: 400,
};

/** An error as a JSON-RPC response tells it. */
export class RpcError extends Error {
  readonly code: RpcCode;
  readonly data: Json | undefined;
  readonly status: number;

  constructor(code: RpcCode, message: string, data?: Json, status = HTTP_STATUS[code] ?? 200) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
  }
}

export const invalidParamsError = (message: string, data?: Json): RpcError =>
  new RpcError(RPC_CODES.invalidParams, message, data);

/** What each request must say of itself is not there. */
export const invalidMetaError = (message: string): RpcError =>
  new RpcError(RPC_CODES.invalidParams, message, undefined, 400);
