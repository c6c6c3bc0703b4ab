import type { IncomingMessage } from 'node:http';
import { buildMessage } from './api-server.ts';
import type { ApiResponse } from './payload-v2.ts';

const HOP_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host', 'expect'];

/** An HTTP proxy integration: buffered whole, and given up after the time of the integration. */
export const forwardRequest = async (
  incoming: IncomingMessage,
  body: Buffer,
  address: string,
  timeoutMs: number,
): Promise<ApiResponse> => {
  const { url = '/', method = 'GET', headers, socket } = incoming;
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || HOP_HEADERS.includes(name) ? [] : [[name, String(value)]],
  );
  const hop = `by=127.0.0.1;for=${socket.remoteAddress};host=${headers.host};proto=https`;
  const earlier = headers.forwarded === undefined ? '' : `${headers.forwarded}, `;
  const gone = new AbortController();
  incoming.socket.once('close', () => gone.abort());
  try {
    const answer = await fetch(`${address}${url}`, {
      method,
      headers: [...passed.filter(([name]) => name !== 'forwarded'), ['forwarded', `${earlier}${hop}`]],
      body: body.length > 0 ? body : undefined,
      signal: AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs)]),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: bytes };
  } catch {
    return buildMessage(503, 'Service Unavailable');
  }
};
