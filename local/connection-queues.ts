import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

type ServeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Of all connections together; some 3 KB each. Node parses what came in one piece to its end, which are 64 KB: 2,600 requests at the most. */
const MAX_QUEUED = 10_000;

interface ConnectionQueue {
  serving?: IncomingMessage;
  queued: { incoming: IncomingMessage; outgoing: ServerResponse }[];
}

/**
 * Serves the requests of one connection one after the other, and reads no more of it while some are held: answers go out in that order
 * anyhow, and whoever sends faster than he is answered is slowed by TCP instead of being kept in memory.
 */
export class ConnectionQueues {
  readonly #serve: ServeRequest;
  readonly #lines = new WeakMap<Duplex, ConnectionQueue>();
  #queued = 0;

  constructor(serve: ServeRequest) {
    this.#serve = serve;
  }

  readonly enqueue: ServeRequest = (incoming, outgoing) => {
    const { socket } = incoming;
    // Node goes on with what it has read when the connection is gone.
    if (socket.destroyed) return;
    const line = this.#lines.get(socket) ?? this.#openQueue(socket);
    if (!line.serving) this.#serveNow(line, incoming, outgoing);
    else this.#queueRequest(line, incoming, outgoing);
  };

  /** Whether the request that is being served has come whole, so that whatever comes now belongs to a later one. */
  isServingComplete(socket: Duplex): boolean {
    return this.#lines.get(socket)?.serving?.complete ?? false;
  }

  #openQueue(socket: Socket): ConnectionQueue {
    const line: ConnectionQueue = { queued: [] };
    this.#lines.set(socket, line);
    // Node resumes the connection at the end of each request that it parses, and then reads even if it was paused again
    // meanwhile; what stops that is its own listener for the event.
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
    outgoing.once('close', () => this.#serveNext(line, incoming.socket));
    this.#serve(incoming, outgoing);
  }

  #serveNext(line: ConnectionQueue, socket: Socket): void {
    line.serving = undefined;
    const next = socket.destroyed ? undefined : line.queued.shift();
    if (!next) return;
    this.#queued -= 1;
    if (line.queued.length === 0) socket.resume();
    this.#serveNow(line, next.incoming, next.outgoing);
  }

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
