import { isUtf8 } from 'node:buffer';
import { ParleyError } from '../kernel/errors.ts';
import { findUnsafeJson } from '../kernel/json/find-unsafe-json.ts';
import { formatPath } from '../kernel/json/parse-or-throw.ts';
import { type JsonScan, MAX_DEPTH, MAX_VALUES, scanJson } from '../kernel/json/scan-json.ts';
import type { HttpRequest } from './http-message.ts';

/** In so few bytes there are neither too many values nor too many levels to parse: looking at the values takes a fifth of a scan. */
const SMALL_BODY_BYTES = 8 * 1024;
const UNSCANNED: JsonScan = { needsInspection: true };

/** The JSON of a request body, free of what is legal JSON and still harmful. An empty body is undefined. */
export const readJson = async (request: HttpRequest, limit: number): Promise<unknown> => {
  const body = await request.readBody(limit);
  if (body.byteLength === 0) return undefined;
  if (!isUtf8(body)) throw new ParleyError('invalid_json', 'The body is not UTF-8 text.');
  const { problem, needsInspection } = body.byteLength > SMALL_BODY_BYTES ? scanJson(body) : UNSCANNED;
  if (problem === 'depth') throw unacceptableJsonError([], `is nested deeper than ${MAX_DEPTH} levels`);
  if (problem === 'values') throw tooManyValuesError();
  const value = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
  const flaw = needsInspection ? findUnsafeJson(value) : undefined;
  if (flaw) throw unacceptableJsonError(flaw.path, flaw.message);
  return value;
};

const unacceptableJsonError = (at: (string | number)[], message: string): ParleyError => {
  const path = formatPath(at);
  return new ParleyError('invalid_json', `The body is not acceptable JSON: ${path || 'it'} ${message}.`, {
    issues: [{ path, message }],
  });
};

const tooManyValuesError = (): ParleyError =>
  new ParleyError('too_large', `The body has more than the ${MAX_VALUES} values that are allowed.`, {
    details: { limit: MAX_VALUES },
  });

/** For a request whose body came with it. */
export const createBodyReader =
  (body: Uint8Array): HttpRequest['readBody'] =>
  async (limit) => {
    if (body.byteLength > limit) throw bodyTooLargeError(limit);
    return body;
  };

export const bodyTooLargeError = (limit: number): ParleyError =>
  new ParleyError('too_large', `The body is larger than the ${limit} bytes that are allowed for this call.`, {
    details: { limit },
  });

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes a piece of the text, which may be anything.
    throw new ParleyError('invalid_json', 'The body is not JSON.', { cause });
  }
};
