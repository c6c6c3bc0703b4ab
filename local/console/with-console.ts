import { type ConsoleFiles, isConsolePath, serveConsole } from '../../console/serve-console.ts';
import type { HttpRequest, HttpResponse } from '../../shared/http/http-message.ts';
import { toProblem, toPublicError } from '../../shared/http/problem.ts';
import type { HttpHandler } from '../../shared/http/router.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { Log } from '../../shared/kernel/log.ts';
import { loadConsole } from './load-console.ts';
import type { SignInCodes } from './sign-in-codes.ts';

const SESSION_PATH = '/console/session';
const MAX_CODE_BYTES = 1024;

interface ConsoleOptions {
  codes: SignInCodes;
  /** A key of its own for each sign-in. */
  createKey: () => Promise<string>;
  log: Log;
  load?: () => Promise<ConsoleFiles>;
  /** Where somebody reads the link, it is opened soon. */
  isSoonOpened?: boolean;
}

/** Serves the console beside the API. It is bundled at the first request, so that a start does not wait for it. */
export const withConsole = (handle: HttpHandler, options: ConsoleOptions): HttpHandler => {
  const { codes, createKey, log, load = loadConsole } = options;
  let loading: Promise<ConsoleFiles> | undefined;
  if (options.isSoonOpened) {
    loading = load();
    // Whoever asks for it is told.
    loading.catch(() => {});
  }
  return async (request) => {
    const { method, path } = request;
    if (!isConsolePath(path)) return handle(request);
    if (method === 'POST' && path === SESSION_PATH) return await exchangeCode(request, codes, createKey);
    try {
      loading ??= load();
      return serveConsole(await loading, request);
    } catch (cause) {
      loading = undefined;
      log('error', 'the console could not be bundled', { cause: String(cause) });
      return toResponse(new ParleyError('internal', 'The console could not be bundled.'));
    }
  };
};

/** The answer has a key: the link, which ends up in terminals and histories, never has one. */
const exchangeCode = async (
  request: HttpRequest,
  codes: SignInCodes,
  createKey: ConsoleOptions['createKey'],
): Promise<HttpResponse> => {
  const code = await readCode(request);
  if (code === undefined || !codes.redeem(code))
    return toResponse(new ParleyError('unauthorized', 'This link was used before, or is too old.'));
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  try {
    return { status: 200, headers, body: JSON.stringify({ key: await createKey() }) };
  } catch (error) {
    return toResponse(toPublicError(error));
  }
};

const readCode = async (request: HttpRequest): Promise<string | undefined> => {
  try {
    const { code } = JSON.parse(new TextDecoder().decode(await request.readBody(MAX_CODE_BYTES)));
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined;
  }
};

const toResponse = (error: ParleyError): HttpResponse => {
  const { status, body } = toProblem(error);
  return { status, headers: { 'content-type': 'application/problem+json' }, body: JSON.stringify(body) };
};
