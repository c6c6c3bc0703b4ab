import { RPC_CODES, RpcError } from './rpc-error.ts';

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Headers take visible ASCII; MCP has a form for the rest. */
export const decodeHeader = (value: string | undefined): string | undefined => {
  const encoded = value === undefined ? undefined : ENCODED.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
};

export const headerMismatchError = (name: string, given: string | undefined, expected: string): RpcError =>
  new RpcError(
    RPC_CODES.headerMismatch,
    given === undefined
      ? `The header ${name} is missing; the body says ${expected}.`
      : `The header ${name} says ${given}, and the body ${expected}.`,
  );
