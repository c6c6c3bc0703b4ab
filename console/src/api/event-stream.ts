import { signal } from '@preact/signals';
import { callRaw, isGone } from './call.ts';

export interface ParleyEvent {
  id: string;
  type: string;
  at: number;
  data: Record<string, unknown> & { taskId?: string; agent?: string; status?: string };
}

/** How events come: several together, so that a thousand a second are four updates. */
const BATCH_MS = 250;
const RETRY_MS = 1000;

type Listener = (events: ParleyEvent[]) => void;
const listeners = new Set<Listener>();

export const subscribe = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Shown where a page is live. */
export const isLive = signal(false);

let waiting: ParleyEvent[] = [];
let _timer: ReturnType<typeof setTimeout> | undefined;

const deliver = (): void => {
  _timer = undefined;
  const events = waiting;
  waiting = [];
  for (const listener of listeners) listener(events);
};

const push = (event: ParleyEvent): void => {
  waiting.push(event);
  _timer ??= setTimeout(deliver, BATCH_MS);
};

interface StreamPiece {
  id: string;
  event: string;
  /** Empty where a piece only says where the stream is. */
  data: string;
}

/** Reads server-sent events with a key in the header, which `EventSource` cannot send. Gives how long to wait for more. */
export const readStream = async (
  path: string,
  lastId: string | undefined,
  abort: AbortSignal,
  onPiece: (piece: StreamPiece) => void,
): Promise<number> => {
  const response = await callRaw('GET', path, {
    signal: abort,
    headers: { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, retryMs] = ['', RETRY_MS];
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return retryMs;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const piece = { id: '', event: 'message', data: '' };
      for (const line of block.split(/\r?\n/)) {
        const [, name = '', text = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
        if (name === 'data') piece.data += piece.data === '' ? text : `\n${text}`;
        else if (name === 'id' || name === 'event') piece[name] = text;
        else if (name === 'retry') retryMs = Number(text) || RETRY_MS;
      }
      onPiece(piece);
    }
  }
};

/** Follows all events for as long as there is a key, from where it was, through any outage. */
export const followEvents = (): (() => void) => {
  const abort = new AbortController();
  const follow = async (): Promise<void> => {
    let lastId: string | undefined;
    while (!abort.signal.aborted) {
      let waitMs = RETRY_MS;
      try {
        const reading = readStream('v1/events', lastId, abort.signal, ({ id, data }) => {
          isLive.value = true;
          if (id !== '') lastId = id;
          if (data !== '') push(JSON.parse(data) as ParleyEvent);
        });
        // On AWS an answer is a piece of the stream; elsewhere it ends with the server, which the next call notices.
        waitMs = await reading;
      } catch {
        isLive.value = false;
        // A position that the log no longer has: go on from now.
        if (!isGone.peek()) lastId = undefined;
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  };
  void follow();
  return () => abort.abort();
};
