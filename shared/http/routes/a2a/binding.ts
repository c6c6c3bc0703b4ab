import { PARLEY_EXTENSION, PROTOCOL_VERSION } from '../../../adapters/a2a/agent-card.ts';
import { assertScope } from '../../../identity/auth/authenticate.ts';
import type { KeyScope } from '../../../identity/auth/scopes.ts';
import { buildSignedCall } from '../../../ingest/authorize.ts';
import { ParleyError } from '../../../kernel/errors.ts';
import type { HttpRequest } from '../../http-message.ts';
import { assertAccess, largeBodyLimit, type RouteCall, type RouteResponse, receiveBody } from '../../route.ts';
import { type A2aCall, resolveAgent } from './call.ts';
import { A2aError, type EncodedError, toEncodedError } from './errors.ts';
import type { StreamPiece } from './stream.ts';

export const JSON_TYPE = 'application/json';
export const A2A_TYPE = 'application/a2a+json';

/** Who may call at all is told as HTTP has it. All else is told by the binding. */
export const answerInBinding = async (
  call: RouteCall,
  answer: (
    received: unknown,
    toCall: (needed: KeyScope, tenant?: string) => Promise<A2aCall>,
  ) => Promise<RouteResponse>,
  toErrorResponse: (error: EncodedError) => RouteResponse,
): Promise<RouteResponse> => {
  const { deps, params, request, trace, longPoll } = call;
  const caller = assertAccess('agent-or-admin', call.caller);
  try {
    assertVersion(call);
    assertContentType(request);
    const received = await receiveBody(call, largeBodyLimit);
    // The signature covers the path as it was called, so it has no parameters.
    const { method, path, headers } = request;
    const signed = buildSignedCall({ method, path, params: {}, headers, body: received });
    const answered = await answer(received, async (needed, tenant) => {
      assertScope(caller, needed);
      const agent = await resolveAgent(deps, caller, params.agent ?? '', tenant || undefined);
      return { deps, caller, agent, signed, trace, request, longPoll };
    });
    return { ...answered, headers: { ...buildExtensionHeaders(request), ...answered.headers } };
  } catch (error) {
    if (error instanceof ParleyError && isAboutKey(error)) throw error;
    const encoded = toEncodedError(error);
    if (encoded.http === 500) deps.log('error', 'request failed', { path: request.path, cause: describe(error) });
    return toErrorResponse(encoded);
  }
};

const isAboutKey = ({ code, details }: ParleyError): boolean =>
  code === 'unauthorized' || (code === 'forbidden' && details.needed !== undefined);

const describe = (error: unknown): string => {
  const cause = error instanceof ParleyError ? error.cause : error;
  return cause instanceof Error ? String(cause.stack) : String(cause);
};

/** Whoever names none speaks 0.3. The third number says nothing of the protocol. */
const assertVersion = ({ request, query }: RouteCall): void => {
  const said = request.headers['a2a-version'] ?? query['A2A-Version'] ?? '0.3';
  if (said.trim().split('.').slice(0, 2).join('.') === PROTOCOL_VERSION) return;
  const message = `A2A ${said.slice(0, 32)} is not spoken here, only ${PROTOCOL_VERSION}: send "A2A-Version: ${PROTOCOL_VERSION}".`;
  throw new A2aError('VERSION_NOT_SUPPORTED', message, { supportedVersions: PROTOCOL_VERSION });
};

const getMediaType = (header = ''): string => header.split(';')[0]?.trim().toLowerCase() ?? '';

const assertContentType = ({ method, headers }: HttpRequest): void => {
  const type = getMediaType(headers['content-type']);
  if (method !== 'POST' || ['', JSON_TYPE, A2A_TYPE].includes(type)) return;
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', `The body must be ${A2A_TYPE} or ${JSON_TYPE}, not ${type}.`);
};

/** That of the request; where it has none, what its sender accepts. */
export const pickMediaType = ({ headers }: HttpRequest, otherwise: string): string => {
  const type = getMediaType(headers['content-type']);
  if (type === JSON_TYPE || type === A2A_TYPE) return type;
  const { accept = '' } = headers;
  const isJsonAlone = accept.includes(JSON_TYPE) && !accept.includes(A2A_TYPE) && !accept.includes('*/*');
  return isJsonAlone ? JSON_TYPE : otherwise;
};

/** Those that were asked for and are spoken. */
const buildExtensionHeaders = ({ headers }: HttpRequest): Record<string, string> => {
  const asked = (headers['a2a-extensions'] ?? '').split(',').map((uri) => uri.trim());
  const version = { 'a2a-version': PROTOCOL_VERSION };
  return asked.includes(PARLEY_EXTENSION) ? { ...version, 'a2a-extensions': PARLEY_EXTENSION } : version;
};

/** As server-sent events, which have data alone. */
export async function* toEventStream(
  pieces: AsyncIterable<StreamPiece>,
  encode: (piece: Exclude<StreamPiece, 'quiet'>) => unknown,
): AsyncGenerator<string> {
  for await (const piece of pieces)
    yield piece === 'quiet' ? ': still here\n\n' : `data: ${JSON.stringify(encode(piece))}\n\n`;
}
