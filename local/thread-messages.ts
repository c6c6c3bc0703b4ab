import type { HttpRequest, HttpResponse } from '../shared/http/http-message.ts';
import type { Log } from '../shared/log.ts';

export interface ListenOn {
  port: number;
  host: string;
  bodyLimit: number;
}

/** What the thread that serves HTTP tells the core. An id is that of a request. */
export type FromThread =
  | { is: 'listening'; port: number }
  | { is: 'request'; id: number; request: Omit<HttpRequest, 'signal' | 'note'> }
  /** The caller has hung up, or the server stops. */
  | { is: 'gone'; id: number }
  /** Asks for the next piece of an answer: there are never more on the way than one. */
  | { is: 'next'; id: number }
  /** Asks for no more of them. */
  | { is: 'leave'; id: number }
  | { is: 'log'; line: Parameters<Log> };

/** What the core tells the thread. */
export type ToThread =
  /** Without a body where that comes in pieces. */
  | { is: 'answer'; id: number; status: number; headers: HttpResponse['headers']; body?: string | Uint8Array }
  /** Without a text where there are no more. */
  | { is: 'piece'; id: number; text?: string }
  /** In place of an answer or a piece. */
  | { is: 'failed'; id: number; message: string }
  | { is: 'stop' };

/** A message to another thread wakes it, which costs more than what is in it: all that is posted until the flush is one message. */
export const batched = <Message>(
  send: (batch: Message[]) => void,
  later: (flush: () => void) => void,
): ((message: Message) => void) => {
  let batch: Message[] = [];
  const flush = (): void => {
    const whole = batch;
    batch = [];
    send(whole);
  };
  return (message) => {
    if (batch.push(message) === 1) later(flush);
  };
};

/** Bytes are often a small part of a large buffer, all of which would be copied to the other thread. */
export const cutOut = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
