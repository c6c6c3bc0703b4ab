import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyTooLargeError } from '../shared/http/read-body.ts';
import { ParleyError } from '../shared/kernel/errors.ts';

/**
 * A client that is cut off while it sends reads no answer, so the rest of its body is discarded within these limits.
 */
const DISCARD_TIMEOUT_MS = 5000;
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Up to this, the rest is read to keep the connection. */
const MAX_SHORT_BODY_BYTES = 64 * 1024;

const EMPTY_BODY = Buffer.alloc(0);

/** Rejects before the first byte if the declared length exceeds the limit, else at the first byte beyond it. */
export const readBody = (incoming: IncomingMessage, limit: number): Promise<Uint8Array> => {
  const { 'content-length': declared, 'transfer-encoding': encoding } = incoming.headers;
  if (encoding === undefined && (declared === undefined || declared === '0')) return Promise.resolve(EMPTY_BODY);
  if (Number(declared) > limit) return Promise.reject(bodyTooLargeError(limit));
  if (isWholeBodyHere(incoming)) return readWholeBody(incoming, limit);
  // No event comes any more.
  if (incoming.destroyed) return Promise.reject(abortedError());
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = (): void => {
    incoming.off('data', onChunk).off('end', onEnd).off('close', onAbort).off('error', onAbort);
  };
  const onChunk = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
    else {
      stop();
      reject(bodyTooLargeError(limit));
    }
  };
  const onEnd = (): void => {
    stop();
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
  };
  const onAbort = (): void => {
    stop();
    reject(abortedError());
  };
  incoming.on('data', onChunk).on('end', onEnd).on('close', onAbort).on('error', onAbort);
  return promise;
};

/** A short body comes with its headers. The end of the message is parsed only after those who read it have begun. */
const isWholeBodyHere = (incoming: IncomingMessage): boolean =>
  incoming.complete ||
  (isShortBody(incoming) && incoming.readableLength === Number(incoming.headers['content-length']));

/** Read at once, it takes a tenth of what its events would. */
const readWholeBody = async (incoming: IncomingMessage, limit: number): Promise<Uint8Array> => {
  const body: Buffer = incoming.read() ?? EMPTY_BODY;
  if (body.length > limit) throw bodyTooLargeError(limit);
  return body;
};

const abortedError = (): ParleyError => new ParleyError('invalid_request', 'The connection ended before the body did.');

export const isExpectingContinue = ({ headers }: IncomingMessage): boolean =>
  headers.expect?.toLowerCase() === '100-continue';

export const hasUnreadBody = (incoming: IncomingMessage, { shouldKeepAlive }: ServerResponse): boolean =>
  !incoming.complete && !(shouldKeepAlive && isShortBody(incoming));

const isShortBody = (incoming: IncomingMessage): boolean =>
  !isExpectingContinue(incoming) && Number(incoming.headers['content-length'] ?? Infinity) <= MAX_SHORT_BODY_BYTES;

export const discardBody = (incoming: IncomingMessage): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let bytes = 0;
  const countBytes = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) stop();
  };
  const patience = setTimeout(() => stop(), DISCARD_TIMEOUT_MS);
  const stop = (): void => {
    clearTimeout(patience);
    incoming.off('data', countBytes).off('end', stop).off('close', stop).off('error', stop);
    incoming.on('error', () => {});
    resolve();
  };
  incoming.on('data', countBytes).on('end', stop).on('close', stop).on('error', stop);
  if (incoming.destroyed || incoming.complete) stop();
  return promise;
};
