import { signal } from '@preact/signals';
import { callRaw, isGone, markGone } from './call.ts';

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

/** Reads server-sent events with a key in the header, which `EventSource` cannot send. */
export const readStream = async (
  path: string,
  lastId: string | undefined,
  abort: AbortSignal,
  onEvent: (event: { id: string; event: string; data: string }) => void,
): Promise<void> => {
  const response = await callRaw('GET', path, {
    signal: abort,
    headers: { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = { id: '', event: 'message', data: '' };
      for (const line of block.split(/\r?\n/)) {
        const [, name = '', text = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
        if (name === 'data') fields.data += fields.data === '' ? text : `\n${text}`;
        else if (name === 'id' || name === 'event') fields[name] = text;
      }
      if (fields.data !== '') onEvent(fields);
    }
  }
};

/** Follows all events for as long as there is a key, from where it was, through any outage. */
export const followEvents = (): (() => void) => {
  const abort = new AbortController();
  const follow = async (): Promise<void> => {
    let lastId: string | undefined;
    while (!abort.signal.aborted) {
      try {
        const opened = readStream('v1/events', lastId, abort.signal, ({ id, data }) => {
          if (id !== '') lastId = id;
          push(JSON.parse(data) as ParleyEvent);
        });
        isLive.value = true;
        await opened;
        // A server that ends its streams is about to stop, or to be replaced.
        if (!abort.signal.aborted) markGone();
      } catch {
        // A position that the log no longer has: go on from now.
        if (!isGone.peek()) lastId = undefined;
      }
      isLive.value = false;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  void follow();
  return () => abort.abort();
};
