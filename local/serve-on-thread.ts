import { Worker } from 'node:worker_threads';
import type { HttpRequest } from '../shared/http/http-message.ts';
import type { Handle } from '../shared/http/router.ts';
import type { Log } from '../shared/log.ts';
import type { RunningServer } from './server.ts';
import { batched, cutOut, type FromThread, type ListenOn, type ToThread } from './thread-messages.ts';

/** The thread that serves HTTP has ended, and nobody has stopped it. */
export class ThreadEnded extends Error {
  constructor(cause: unknown) {
    super('the thread that serves HTTP ended', { cause });
  }
}

/** A request that is not answered, or not to its end. */
interface UnderWay {
  gone: AbortController;
  pieces?: AsyncIterator<string>;
}

/** Serves the handler over plain HTTP as `serve` does, from a thread of its own, so that this one has only the handler to run. */
export const serveOnThread = async (
  handle: Handle,
  listenOn: ListenOn,
  log: Log,
  onFailure: (error: ThreadEnded) => void,
): Promise<RunningServer> => {
  const thread = new Worker(new URL('./http-thread.ts', import.meta.url), { workerData: listenOn });
  // After all that is answered in this turn.
  const tell = batched<ToThread>((batch) => thread.postMessage(batch), process.nextTick);
  const underWay = new Map<number, UnderWay>();

  const answer = async (id: number, request: HttpRequest): Promise<void> => {
    const call: UnderWay = { gone: new AbortController() };
    underWay.set(id, call);
    const { status, headers, body } = await handle({ ...request, signal: call.gone.signal });
    if (typeof body === 'string' || body instanceof Uint8Array) {
      underWay.delete(id);
      tell({ is: 'answer', id, status, headers, body: typeof body === 'string' ? body : cutOut(body) });
    } else {
      call.pieces = body[Symbol.asyncIterator]();
      tell({ is: 'answer', id, status, headers });
    }
  };

  const next = async (id: number): Promise<void> => {
    const piece = await underWay.get(id)?.pieces?.next();
    tell({ is: 'piece', id, text: piece?.done ? undefined : piece?.value });
  };

  const leave = async (id: number): Promise<void> => {
    const left = underWay.get(id);
    underWay.delete(id);
    await left?.pieces?.return?.();
  };

  const carriedOut = (id: number, work: Promise<void>): Promise<void> =>
    work.catch((error) => {
      underWay.delete(id);
      tell({ is: 'failed', id, message: error instanceof Error ? error.message : String(error) });
    });

  const listening = Promise.withResolvers<number>();
  const hear = (told: FromThread): void => {
    if (told.is === 'request') carriedOut(told.id, answer(told.id, told.request));
    else if (told.is === 'gone') underWay.get(told.id)?.gone.abort();
    else if (told.is === 'next') carriedOut(told.id, next(told.id));
    else if (told.is === 'leave') carriedOut(told.id, leave(told.id));
    else if (told.is === 'log') log(...told.line);
    else listening.resolve(told.port);
  };
  thread.on('message', (batch: FromThread[]) => batch.forEach(hear));

  let isStopping = false;
  const ended = new Promise<void>((resolve, reject) => {
    thread.once('error', (cause) => reject(new ThreadEnded(cause)));
    thread.once('exit', () => (isStopping ? resolve() : reject(new ThreadEnded('nobody has stopped it'))));
  });
  ended.catch(listening.reject);
  const port = await listening.promise;
  ended.catch(onFailure);
  return {
    port,
    close: () => {
      isStopping = true;
      tell({ is: 'stop' });
      return ended;
    },
  };
};
