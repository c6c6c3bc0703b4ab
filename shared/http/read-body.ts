import { isUtf8 } from 'node:buffer';
import { ParleyError } from '../errors.ts';
import { pathOf } from '../json/checked.ts';
import { inspect } from '../json/inspect.ts';
import type { HttpRequest } from './http-message.ts';

/** The JSON of a request body, free of what is legal JSON and still harmful. An empty body is undefined. */
export const readBody = (body: HttpRequest['body'], limit: number): unknown => {
  if (body === 'too large' || body.byteLength > limit) {
    throw new ParleyError('too_large', `The body is larger than the ${limit} bytes that are allowed.`, {
      facts: { limit },
    });
  }
  if (body.byteLength === 0) return undefined;
  if (!isUtf8(body)) throw new ParleyError('invalid_json', 'The body is not UTF-8 text.');
  const value = parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
  const flaw = inspect(value);
  if (!flaw) return value;
  const path = pathOf(flaw.path);
  throw new ParleyError('invalid_json', `The body is not acceptable JSON: ${path || 'it'} ${flaw.message}.`, {
    issues: [{ path, message: flaw.message }],
  });
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes a piece of the text, which may be anything.
    throw new ParleyError('invalid_json', 'The body is not JSON.', { cause });
  }
};
