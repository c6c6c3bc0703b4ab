import type { JsonObject } from '../kernel/json/json.ts';
import type { SignedContent } from '../model/command.ts';

export const SIGNATURE_HEADERS = {
  'Parley-Signature':
    'base64 of the signature over `{"call": "<method> <path>", "timestamp", "body"}` as canonical JSON. `broadcast` and `dialect` are added if the call has the headers `Parley-Broadcast` and `Parley-Dialect`',
  'Parley-Timestamp': 'the time of the signature, ISO 8601, within 60 s of now',
};

interface SignedCallParts {
  method: string;
  /** Of the route, with parameters in braces, and what they are, decoded: servers differ in what they decode on the way. */
  path: string;
  params: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string | undefined>>;
  body: unknown;
}

/** What the signature of a call covers: the call, its body and the headers that change what it means, so that it is worth nothing for another. Undefined where there is none. */
export const buildSignedCall = ({
  method,
  path,
  params,
  headers,
  body,
}: SignedCallParts): SignedContent | undefined => {
  const { 'parley-signature': signature, 'parley-timestamp': timestamp = '' } = headers;
  if (signature === undefined) return undefined;
  const call = `${method} ${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '')}`;
  const { 'parley-broadcast': broadcast, 'parley-dialect': dialect } = headers;
  const message: JsonObject = {
    call,
    timestamp,
    broadcast,
    dialect,
    body: isJsonBody(body) ? body : undefined,
    signature,
  };
  return { message, at: Date.parse(timestamp) };
};

/** Bodies are parsed from JSON. */
const isJsonBody = (body: unknown): body is JsonObject => body !== undefined;
