import { parentPort, workerData } from 'node:worker_threads';
import type { HttpRequest, HttpResponse } from '../shared/http/http-message.ts';
import { serve } from './server.ts';
import { batched, cutOut, type FromThread, type ListenOn, type ToThread } from './thread-messages.ts';

/** The thread that serves HTTP: it passes each request to the core, which has the main thread for itself. */
if (!parentPort) throw new Error('this is started as a thread, by serve-on-thread.ts');
const core = parentPort;

// After the sockets that had something to read in this turn.
const tell = batched<FromThread>((batch) => core.postMessage(batch), setImmediate);

/** What the core was asked, until it has answered. */
class Questions<Answer> {
  readonly #open = new Map<number, PromiseWithResolvers<Answer>>();

  ask(id: number): Promise<Answer> {
    const question = Promise.withResolvers<Answer>();
    this.#open.set(id, question);
    return question.promise;
  }

  answered(id: number): PromiseWithResolvers<Answer> | undefined {
    const question = this.#open.get(id);
    this.#open.delete(id);
    return question;
  }
}

const requests = new Questions<HttpResponse>();
const pieces = new Questions<string | undefined>();
let last = 0;

const pass = ({ method, path, query, headers, body, signal }: HttpRequest): Promise<HttpResponse> => {
  const id = ++last;
  const request = { method, path, query, headers, body: body === 'too large' ? body : cutOut(body) };
  tell({ is: 'request', id, request });
  const hangUp = (): void => tell({ is: 'gone', id });
  if (signal?.aborted) hangUp();
  else signal?.addEventListener('abort', hangUp);
  return requests.ask(id);
};

const piecesOf = async function* (id: number): AsyncGenerator<string> {
  try {
    for (;;) {
      tell({ is: 'next', id });
      const text = await pieces.ask(id);
      if (text === undefined) return;
      yield text;
    }
  } finally {
    tell({ is: 'leave', id });
  }
};

const hear = (told: ToThread): void => {
  if (told.is === 'answer') {
    const { id, status, headers, body = piecesOf(id) } = told;
    requests.answered(id)?.resolve({ status, headers, body });
  } else if (told.is === 'piece') {
    pieces.answered(told.id)?.resolve(told.text);
  } else if (told.is === 'failed') {
    (requests.answered(told.id) ?? pieces.answered(told.id))?.reject(new Error(told.message));
  } else {
    // With its last connection and this port closed, the thread has nothing left to do and ends; what it has told goes first.
    server.close().then(() => setImmediate(() => core.close()));
  }
};

const { port, host, bodyLimit }: ListenOn = workerData;
const server = await serve(pass, port, host, bodyLimit, (...line) => tell({ is: 'log', line }));
core.on('message', (batch: ToThread[]) => batch.forEach(hear));
tell({ is: 'listening', port: server.port });
