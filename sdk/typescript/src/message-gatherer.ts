import { ParleyError } from './errors.ts';
import type { JsonObject } from './json.ts';
import { isPassing, type Transport } from './transport.ts';

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
  messages: JsonObject[];
  settle: (results: readonly MessageResult[]) => void;
  /** They travel by themselves then. */
  putBack: () => void;
}

export const NATIVE = { 'parley-dialect': 'native' };
/** As many as one call takes. */
export const MAX_MESSAGES = 25;
const GATHER_MS = 1;

const { setImmediate } = globalThis as { setImmediate?: (run: () => void) => void };
/** After everything else of this moment. */
const defer = (run: () => void): void => {
  if (setImmediate) setImmediate(run);
  else setTimeout(run, 0);
};

/** Messages that are sent in the same moment, or within a millisecond while others are under way, travel in one call, in their order. */
export class MessageGatherer {
  readonly #transport: Transport;
  readonly #carriers = new Set<() => void>();
  #pending: PendingMessage[] = [];
  #inFlight = 0;
  #isImmediate = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whoever is about to make a call that can take messages along is asked before they travel by themselves. */
  addCarrier(carry: () => void): () => void {
    this.#carriers.add(carry);
    return () => this.#carriers.delete(carry);
  }

  get isPending(): boolean {
    return this.#pending.length > 0;
  }

  send(message: JsonObject): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ message, resolve, reject });
      if (this.#pending.length >= MAX_MESSAGES) this.#flush();
      else this.#schedule();
    });
  }

  /** At once, with what else is sent in the same moment; while other calls are under way, more is gathered for the next one. */
  #schedule(): void {
    if (this.#timer || this.#isImmediate) return;
    if (this.#inFlight > 0) this.#timer = setTimeout(() => this.#flush(), GATHER_MS);
    else {
      this.#isImmediate = true;
      defer(() => {
        this.#isImmediate = false;
        if (this.#pending.length > 0) this.#flush();
      });
    }
  }

  /** For a call that takes messages along: those that wait, and what to do with their results. */
  take(max = MAX_MESSAGES): TakenMessages {
    const taken = max > 0 ? this.#takePending() : [];
    return {
      messages: taken.map(({ message }) => message),
      settle: (results) => {
        for (const [index, one] of taken.entries()) this.#settleOne(one, results[index]);
      },
      putBack: () => void this.#send(taken),
    };
  }

  #takePending(): PendingMessage[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const taken = this.#pending.splice(0, MAX_MESSAGES);
    if (this.#pending.length > 0) this.#timer = setTimeout(() => this.#flush(), GATHER_MS);
    return taken;
  }

  #flush(): Promise<void> {
    for (const carry of this.#carriers) carry();
    return this.#send(this.#takePending());
  }

  async #send(taken: readonly PendingMessage[]): Promise<void> {
    if (taken.length === 0) return;
    this.#inFlight++;
    try {
      await this.#call(taken);
    } finally {
      this.#inFlight--;
    }
  }

  async #call(taken: readonly PendingMessage[]): Promise<void> {
    const [first] = taken;
    if (first && taken.length === 1) return this.#sendAlone(first);
    try {
      const { results } = await this.#transport.call<{ results: MessageResult[] }>('POST', '/v1/messages', {
        body: { messages: taken.map(({ message }) => message) },
        headers: NATIVE,
      });
      for (const [index, one] of taken.entries()) this.#settleOne(one, results[index]);
    } catch (error) {
      const isTooLarge = error instanceof ParleyError && error.code === 'too_large';
      for (const one of taken) {
        if (isTooLarge) this.#sendAlone(one);
        else one.reject(error);
      }
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
    else {
      const error = new ParleyError(result.status, result.body);
      if (isPassing(error)) this.#sendAlone(one);
      else one.reject(error);
    }
  }
}
