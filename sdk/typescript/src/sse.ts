import type { Json } from './json.ts';
import { sleep, type Transport } from './transport.ts';

export interface ServerEvent {
  id: string;
  type: string;
  data: Json;
}

const RECONNECT_MS = 1000;

/** An event stream that goes on where it ended, whenever the connection ends. */
export async function* readEvents(
  transport: Transport,
  path: string,
  query: Record<string, string | undefined>,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent> {
  let lastId: string | undefined;
  let reconnectMs = RECONNECT_MS;
  for (;;) {
    const headers = { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) };
    // A stream has no end that a time-out could know.
    const response = await transport.send('GET', path, { query, headers, signal, waitMs: 86_400_000 });
    try {
      for await (const frame of readFrames(response)) {
        if (frame.retryMs !== undefined) reconnectMs = frame.retryMs;
        if (frame.id !== undefined) lastId = frame.id;
        if (frame.data === undefined) continue;
        yield { id: lastId ?? '', type: frame.type, data: JSON.parse(frame.data) };
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof TypeError)) throw error;
    }
    if (signal?.aborted) return;
    await sleep(reconnectMs, signal).catch(() => {});
    if (signal?.aborted) return;
  }
}

interface Frame {
  id?: string;
  type: string;
  data?: string;
  retryMs?: number;
}

async function* readFrames(response: Response): AsyncGenerator<Frame> {
  if (!response.body) return;
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.search(/\r?\n\r?\n/); end >= 0; end = text.search(/\r?\n\r?\n/)) {
      yield parseFrame(text.slice(0, end));
      text = text.slice(end).replace(/^\r?\n\r?\n/, '');
    }
  }
}

const parseFrame = (text: string): Frame => {
  const frame: Frame = { type: 'message' };
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'id') frame.id = value;
    else if (field === 'event') frame.type = value;
    else if (field === 'retry') frame.retryMs = Number(value);
    else if (field === 'data') frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
  }
  return frame;
};
