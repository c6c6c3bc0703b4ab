import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { toProblem } from '../shared/http/problem.ts';
import { ParleyError, type ParleyErrorCode } from '../shared/kernel/errors.ts';
import type { ConnectionQueues } from './connection-queues.ts';

/** Error codes of Node's HTTP parser. */
const PARSER_ERRORS: Readonly<Record<string, [code: ParleyErrorCode, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are larger than the 16 KB that are allowed.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too_large', 'The chunk extensions are larger than the 16 KB that are allowed.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not come whole in time. Send it again.'],
};

/** Node itself would answer with an empty body. */
export const handleParserErrors = (server: Server, lines: ConnectionQueues): void => {
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    const [code, detail] = PARSER_ERRORS[error.code ?? ''] ?? [
      'invalid_request',
      'The request is not HTTP/1.1 as RFC 9112 has it.',
    ];
    const isLater = lines.isServingComplete(socket);
    // The next request times out only because the socket is paused.
    if (isLater && error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.isPaused()) return;
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    // A client would take a second answer for part of the first one.
    else if (isLater || hasSentHeaders(socket)) socket.destroy();
    else socket.end(encodeRawProblem(new ParleyError(code, detail)), () => socket.destroy());
  });
  server.on('checkExpectation', (_incoming: IncomingMessage, outgoing: ServerResponse) =>
    sendProblem(outgoing, new ParleyError('expectation_failed', 'Only "Expect: 100-continue" is understood.')),
  );
};

/** RFC 9112 3.2 requires 400. */
export const isMissingHost = ({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean =>
  headers.host === undefined && httpVersionMajor === 1 && httpVersionMinor >= 1;

export const rejectMissingHost = (outgoing: ServerResponse): void =>
  sendProblem(outgoing, new ParleyError('invalid_request', 'A request of HTTP/1.1 needs a Host header.'));

const PROBLEM_TYPE = 'application/problem+json';

const sendProblem = (outgoing: ServerResponse, error: ParleyError): void => {
  const { status, body } = toProblem(error);
  const text = JSON.stringify(body);
  outgoing.writeHead(status, {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  });
  outgoing.end(text);
};

const encodeRawProblem = (error: ParleyError): string => {
  const { status, body } = toProblem(error);
  const text = JSON.stringify(body);
  const headers = [`content-type: ${PROBLEM_TYPE}`, `content-length: ${Buffer.byteLength(text)}`, 'connection: close'];
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers, '', text].join('\r\n');
};

/** Node keeps the current response in this private field. */
const hasSentHeaders = (socket: Duplex): boolean => {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return typeof answer === 'object' && answer !== null && Reflect.get(answer, 'headersSent') === true;
};
