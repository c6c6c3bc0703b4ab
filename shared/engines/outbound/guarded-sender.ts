import { lookup as resolveName } from 'node:dns';
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { ParleyError } from '../../kernel/errors.ts';
import type { HttpSender, OutboundRequest, OutboundResponse } from '../../ports/http-sender.ts';
import { isPrivateAddress } from './private-addresses.ts';

export interface SenderOptions {
  /** For loopback, and for receivers in the own network. Then plain HTTP is allowed too. */
  allowsPrivate: boolean;
  /** In place of the system's. */
  resolve?: typeof resolveName;
}

/** What a sender of users' requests reads of an answer. */
const MAX_RESPONSE_BYTES = 2 * 1024 * 1024;

export const createGuardedSender = ({ allowsPrivate, resolve = resolveName }: SenderOptions): HttpSender => {
  const assertAllowed = (text: string): URL => {
    const url = URL.parse(text);
    if (!url || !['http:', 'https:'].includes(url.protocol)) throw forbiddenError(text, 'it is no address of HTTP');
    if (url.username !== '' || url.password !== '') throw forbiddenError(text, 'it contains a password');
    if (allowsPrivate) return url;
    if (url.protocol !== 'https:') throw forbiddenError(text, 'it must begin with https:');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if ((isIP(host) !== 0 && isPrivateAddress(host)) || /(^|\.)localhost\.?$/i.test(host))
      throw forbiddenError(text, 'it is of no public host');
    return url;
  };
  /** Decided by the very addresses that are then connected to. */
  const lookup: LookupFunction = (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '');
      const found = allowsPrivate ? addresses : addresses.filter(({ address }) => !isPrivateAddress(address));
      const [first] = found;
      if (!first || found.length < addresses.length) return done(forbiddenError(host, 'it is of no public host'), '');
      return options.all ? done(null, found) : done(null, first.address, first.family);
    });
  };
  return {
    assertAllowed,
    send: (request) => send(assertAllowed(request.url), request, lookup),
  };
};

const send = (url: URL, asked: OutboundRequest, lookup: LookupFunction): Promise<OutboundResponse> => {
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
  const { method, headers, body, timeoutMs, signal } = asked;
  const late = AbortSignal.timeout(timeoutMs);
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) },
    lookup,
    // A kept connection would skip the look at the address.
    agent: false,
    signal: signal ? AbortSignal.any([signal, late]) : late,
  };
  const call = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options);
  call.on('error', (error) => reject(toSendError(url, error, late.aborted ? timeoutMs : undefined)));
  call.on('response', (response) => {
    readBody(response).then(
      (text) => resolve({ status: response.statusCode ?? 0, headers: pickHeaders(response), body: text }),
      (error: Error) => reject(toSendError(url, error, late.aborted ? timeoutMs : undefined)),
    );
  });
  call.end(body);
  return promise;
};

const readBody = async (response: IncomingMessage): Promise<string> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response) {
    const chunk = Buffer.from(piece);
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) {
      response.destroy();
      break;
    }
    pieces.push(chunk);
  }
  return Buffer.concat(pieces).toString();
};

const pickHeaders = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

const forbiddenError = (address: string, why: string): ParleyError =>
  new ParleyError('address_forbidden', `Parley does not call ${address.slice(0, 200)}: ${why}.`);

const toSendError = ({ origin }: URL, error: Error, lateAfterMs: number | undefined): ParleyError => {
  const { cause } = error;
  if (error instanceof ParleyError) return error;
  if (cause instanceof ParleyError) return cause;
  const why = lateAfterMs === undefined ? error.message : `no answer within ${lateAfterMs} ms`;
  return new ParleyError('unreachable', `${origin} cannot be reached: ${why}.`, { cause: error, retryable: true });
};
