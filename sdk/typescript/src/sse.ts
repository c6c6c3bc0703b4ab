import { ParleyError } from './errors.ts';
import type { Json } from './json.ts';
import { sleep, type Transport } from './transport.ts';

export interface ServerEvent {
  id: string;
  type: string;
  data: Json;
}

const RECONNECT_MS = 1000;

/** The server says at least every 15 seconds that it is still there. */
const SILENCE_MS = 45_000;

interface StreamOptions {
  query?: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
  /** Each time that the stream begins. */
  onOpen?: () => void;
}

/** An event stream that goes on where it ended, whenever the connection ends. */
export async function* readEvents(
  transport: Transport,
  path: string,
  { query, signal, onOpen }: StreamOptions,
): AsyncGenerator<ServerEvent> {
  let lastId: string | undefined;
  let reconnectMs = RECONNECT_MS;
  for (;;) {
    const headers = { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) };
    try {
      const response = await transport.open(path, { query, headers, signal, retryForMs: Number.POSITIVE_INFINITY });
      let isOpen = false;
      for await (const frame of readFrames(response)) {
        if (!isOpen) onOpen?.();
        isOpen = true;
        if (frame.retryMs !== undefined) reconnectMs = frame.retryMs;
        if (frame.id !== undefined) lastId = frame.id;
        if (frame.data === undefined) continue;
        yield { id: lastId ?? '', type: frame.type, data: JSON.parse(frame.data) };
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof ParleyError || error instanceof SyntaxError) throw error;
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
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, SILENCE_MS);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.search(FRAME_END); end >= 0; end = text.search(FRAME_END)) {
        yield parseFrame(text.slice(0, end));
        text = text.slice(end).replace(FRAME_END, '');
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const FRAME_END = /\r?\n\r?\n/;

/** A connection can be gone without a word. */
const readWithin = async (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  ms: number,
): Promise<{ done: boolean; value?: Uint8Array | undefined }> => {
  const timer = setTimeout(() => reader.cancel().catch(() => {}), ms);
  try {
    return await reader.read();
  } finally {
    clearTimeout(timer);
  }
};

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
