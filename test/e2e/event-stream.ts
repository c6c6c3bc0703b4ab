import assert from 'node:assert/strict';

interface StreamedEvent {
  id: string;
  type: string;
  data: { taskId?: string; agent?: string; percent?: number };
}

/** Longer than any server keeps a quiet stream open without a word. */
const PATIENCE_MS = 30_000;
/** A stream that is cut off so often without having brought anything brings nothing any more. */
const MOST_IN_VAIN = 10;

/** What one connection to the live stream brings, and how far it got. A server may close it at any time. */
export class EventStream {
  readonly #url: string;
  readonly #key: string;
  readonly #hangUp = new AbortController();
  readonly #over = AbortSignal.any([this.#hangUp.signal, AbortSignal.timeout(PATIENCE_MS)]);
  /** What a reader that comes back sends as Last-Event-ID. */
  lastId: string | undefined;

  constructor(address: string, key: string, lastId?: string, path = '/v1/events') {
    this.#url = address + path;
    this.#key = key;
    this.lastId = lastId;
  }

  /** Events until the reader stops; `undefined` first, when the stream is open. */
  async *read(): AsyncGenerator<StreamedEvent | undefined> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#key}`, accept: 'text/event-stream' };
    if (this.lastId !== undefined) headers['last-event-id'] = this.lastId;
    const response = await fetch(this.#url, { headers, signal: this.#over });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.ok(response.body);
    try {
      let text = '';
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        const frames = (text + piece).split('\n\n');
        text = frames.pop() ?? '';
        for (const frame of frames) yield this.#eventIn(frame);
      }
    } finally {
      this.#hangUp.abort();
    }
  }

  #eventIn(frame: string): StreamedEvent | undefined {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1];
    this.lastId = field('id') ?? this.lastId;
    const data = field('data');
    return data === undefined ? undefined : JSON.parse(data);
  }
}

/**
 * Events as they happen; `undefined` first, when the stream is open. It comes back when it is cut off, which what others do can
 * make happen any number of times.
 */
export async function* liveEvents(
  address: string,
  key: string,
  from?: string,
): AsyncGenerator<StreamedEvent | undefined> {
  let after = from;
  let inVain = 0;
  while (inVain < MOST_IN_VAIN) {
    inVain += 1;
    const stream = new EventStream(address, key, after);
    for await (const event of stream.read()) {
      if (event) inVain = 0;
      yield event;
    }
    after = stream.lastId;
  }
}

export interface Said {
  content?: string;
  step_id?: string;
  index?: number;
  status?: string;
}

/** A reader may be cut off every 25 s, and a turn take minutes. */
const MOST_OF_TURN = 40;

/** What a turn's agent says, for a reader that comes back whenever it is cut off, until it is told how the turn ended. */
export async function* turnStream(address: string, key: string, turn: string): AsyncGenerator<Said> {
  let lastId: string | undefined;
  for (let connections = 0; connections < MOST_OF_TURN; connections++) {
    const stream = new EventStream(address, key, lastId, `/v1/turns/${turn}/stream`);
    for await (const frame of stream.read()) {
      if (!frame) continue;
      const said: Said = Object(frame);
      yield said;
      if (said.status !== undefined) return;
    }
    lastId = stream.lastId;
  }
  assert.fail('the turn never ended');
}

/** Where the event log ends now, as far as the owner of the key is told. */
export const endOfLog = async (address: string, key: string): Promise<string> => {
  const stream = new EventStream(address, key);
  for await (const _opened of stream.read()) break;
  assert.ok(stream.lastId);
  return stream.lastId;
};

/** The events about a task from a place in the log on, up to one of the given type; it comes back when it is cut off. */
export const eventsOf = async (
  address: string,
  key: string,
  from: string,
  taskId: string,
  last: string,
): Promise<StreamedEvent[]> => {
  const events = new Map<string, StreamedEvent>();
  for await (const event of liveEvents(address, key, from)) {
    if (event?.data.taskId !== taskId) continue;
    events.set(event.id, event);
    if (event.type === last) return [...events.values()];
  }
  return assert.fail(`no ${last} came, only ${[...events.keys()]}`);
};
