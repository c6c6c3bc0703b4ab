import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

type ServeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Over all connections, about 3 KB each. Node parses one 64 KB read to its end: up to 2,600 requests. */
const MAX_QUEUED = 10_000;

/** 64 KB of small requests take about 3 ms to parse. */
const MAX_RESUMED_PER_TURN = 8;

interface ConnectionQueue {
  serving?: IncomingMessage;
  queued: { incoming: IncomingMessage; outgoing: ServerResponse }[];
}

/**
 * Serves requests of a connection in order and pauses the socket meanwhile. TCP slows down a fast sender; nothing piles
 * up in memory.
 */
export class ConnectionQueues {
  readonly #serve: ServeRequest;
  readonly #onServed: () => void;
  readonly #lines = new WeakMap<Duplex, ConnectionQueue>();
  #queued = 0;
  #resuming: Socket[] = [];

  /** Calls `onServed` after each response. */
  constructor(serve: ServeRequest, onServed: () => void) {
    this.#serve = serve;
    this.#onServed = onServed;
  }

  readonly enqueue: ServeRequest = (incoming, outgoing) => {
    const { socket } = incoming;
    // Node continues to parse its buffer after the connection is gone.
    if (socket.destroyed) return;
    const line = this.#lines.get(socket) ?? this.#openQueue(socket);
    if (!line.serving) this.#serveNow(line, incoming, outgoing);
    else this.#queueRequest(line, incoming, outgoing);
  };

  /** True if the current request is complete, so further bytes belong to a later one. */
  isServingComplete(socket: Duplex): boolean {
    return this.#lines.get(socket)?.serving?.complete ?? false;
  }

  #openQueue(socket: Socket): ConnectionQueue {
    const line: ConnectionQueue = { queued: [] };
    this.#lines.set(socket, line);
    // Node resumes the socket after each parsed request, even if it was paused meanwhile. Only a `resume` listener
    // prevents that.
    socket.on('resume', () => {
      if (line.queued.length === 0) return;
      socket.pause();
      socket.emit('pause');
    });
    socket.once('close', () => {
      this.#queued -= line.queued.length;
      line.queued = [];
    });
    return line;
  }

  #serveNow(line: ConnectionQueue, incoming: IncomingMessage, outgoing: ServerResponse): void {
    line.serving = incoming;
    outgoing.on('close', () => this.#serveNext(line, incoming.socket));
    this.#serve(incoming, outgoing);
  }

  #serveNext(line: ConnectionQueue, socket: Socket): void {
    line.serving = undefined;
    this.#onServed();
    const next = socket.destroyed ? undefined : line.queued.shift();
    if (!next) return;
    this.#queued -= 1;
    if (line.queued.length === 0) this.#resumeLater(socket);
    this.#serveNow(line, next.incoming, next.outgoing);
  }

  #resumeLater(socket: Socket): void {
    this.#resuming.push(socket);
    if (this.#resuming.length === 1) setImmediate(this.#resumeSome);
  }

  readonly #resumeSome = (): void => {
    for (const socket of this.#resuming.splice(0, MAX_RESUMED_PER_TURN)) if (!socket.destroyed) socket.resume();
    if (this.#resuming.length > 0) setImmediate(this.#resumeSome);
  };

  #queueRequest(line: ConnectionQueue, incoming: IncomingMessage, outgoing: ServerResponse): void {
    if (this.#queued >= MAX_QUEUED) {
      incoming.socket.destroy();
      return;
    }
    line.queued.push({ incoming, outgoing });
    this.#queued += 1;
    incoming.socket.pause();
  }
}
