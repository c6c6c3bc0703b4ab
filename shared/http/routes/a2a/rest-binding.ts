import { isObject, type Json, type JsonObject } from '../../../kernel/json/json.ts';
import type { RouteCall, RouteResponse } from '../../route.ts';
import { A2A_TYPE, answerInBinding, pickMediaType, toEventStream } from './binding.ts';
import { A2aError, type EncodedError } from './errors.ts';
import {
  getNeededScope,
  STREAMING_OPERATIONS,
  type StreamingOperation,
  UNARY_OPERATIONS,
  type UnaryOperation,
} from './operations.ts';

export type RestOperation = UnaryOperation | StreamingOperation;

/** An operation with what its address says. */
export interface RestCall {
  operation: RestOperation;
  params: JsonObject;
}

export const answerRest = (call: RouteCall, resolve: (call: RouteCall) => RestCall): Promise<RouteResponse> => {
  const type = { 'content-type': pickMediaType(call.request, A2A_TYPE) };
  const fail = ({ http, status, message, details, headers }: EncodedError): RouteResponse => ({
    status: http,
    body: { error: { code: http, status, message, details } },
    headers: { ...type, ...headers },
  });
  return answerInBinding(
    call,
    async (received, toCall) => {
      const { operation, params: named } = resolve(call);
      const { 'A2A-Version': _version, ...query } = call.query;
      const params = { ...query, ...toParams(received), ...named };
      const { tenant } = call.params;
      const said = tenant ?? (typeof params.tenant === 'string' ? params.tenant : undefined);
      const asked = await toCall(getNeededScope(operation), said);
      if (operation === 'SendStreamingMessage' || operation === 'SubscribeToTask') {
        const pieces = await STREAMING_OPERATIONS[operation](asked, params);
        return { status: 200, stream: toEventStream(pieces, (piece) => piece), endsByItself: true };
      }
      return { status: 200, body: await UNARY_OPERATIONS[operation](asked, params), headers: type };
    },
    fail,
  );
};

const toParams = (received: unknown): { [key: string]: Json | undefined } => {
  if (received === undefined) return {};
  if (isJsonBody(received)) return received;
  throw new A2aError('INVALID_PARAMS', 'The body must be an object.');
};

const isJsonBody = (received: unknown): received is JsonObject => isObject(received);
