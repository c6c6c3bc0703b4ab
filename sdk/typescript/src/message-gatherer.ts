import { ParleyError } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { Transport } from './transport.ts';

interface PendingMessage {
  message: JsonObject;
  resolve: (accepted: JsonObject) => void;
  reject: (error: unknown) => void;
}

interface MessageResult {
  status: number;
  body: JsonObject;
}

interface TakenMessages {
  taken: readonly PendingMessage[];
  messages: JsonObject[];
  settle: (results: readonly MessageResult[]) => void;
  fail: (error: unknown) => void;
}

export const NATIVE = { 'parley-dialect': 'native' };
/** As many as one call takes. */
export const MAX_MESSAGES = 25;
const GATHER_MS = 1;

/** Messages that are sent within a millisecond travel in one call, in their order. */
export class MessageGatherer {
  readonly #transport: Transport;
  #pending: PendingMessage[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  send(message: JsonObject): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ message, resolve, reject });
      if (this.#pending.length >= MAX_MESSAGES) this.#flush();
      else this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
    });
  }

  /** For a call that takes messages along: those that wait, and what to do with their results. */
  take(): TakenMessages {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const taken = this.#pending.splice(0, MAX_MESSAGES);
    if (this.#pending.length > 0) this.#timer = setTimeout(() => this.#flush(), GATHER_MS);
    return {
      taken,
      messages: taken.map(({ message }) => message),
      settle: (results) => {
        for (const [index, one] of taken.entries()) this.#settleOne(one, results[index]);
      },
      fail: (error) => {
        for (const { reject } of taken) reject(error);
      },
    };
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  async #flush(): Promise<void> {
    const { taken, messages, settle, fail } = this.take();
    if (messages.length === 0) return;
    try {
      const { results } = await this.#transport.call<{ results: MessageResult[] }>('POST', '/v1/messages', {
        body: { messages },
        headers: NATIVE,
      });
      settle(results);
    } catch (error) {
      const isTooLarge = error instanceof ParleyError && error.code === 'too_large' && messages.length > 1;
      if (!isTooLarge) fail(error);
      else for (const one of taken) this.#sendAlone(one);
    }
  }

  async #sendAlone({ message, resolve, reject }: PendingMessage): Promise<void> {
    try {
      resolve(await this.#transport.call('POST', '/v1/messages', { body: message, headers: NATIVE }));
    } catch (error) {
      reject(error);
    }
  }

  /** What could succeed later is sent again by itself: each message of a call has its own result. */
  #settleOne(one: PendingMessage, result: MessageResult | undefined): void {
    if (!result) one.reject(new Error(`Parley gave no result for the message ${String(one.message.kind)}.`));
    else if (result.status < 400) one.resolve(result.body);
    else if (result.status === 429 || result.status >= 500) this.#sendAlone(one);
    else one.reject(new ParleyError(result.status, result.body));
  }
}
