import { connect, type Socket } from 'node:net';
import type { Tally } from './tally.ts';

/** Unread data stays in the kernel and in Node's buffer; beyond this, nothing is written. */
const UNREAD_BYTES = 256 * 1024;

interface Sent {
  id: string;
  at: number;
}

export class FloodConnection {
  readonly #port: number;
  readonly #tally: Tally;
  #socket: Socket;
  #received = '';
  #outstanding: Sent[] = [];
  #answered = 0;
  #isClosed = false;

  constructor(port: number, tally: Tally) {
    this.#port = port;
    this.#tally = tally;
    this.#socket = this.#connect();
  }

  get outstanding(): number {
    return this.#outstanding.length - this.#answered;
  }

  get canTakeMore(): boolean {
    return this.#socket.writableLength < UNREAD_BYTES;
  }

  send(id: string, request: string): void {
    this.#outstanding.push({ id, at: performance.now() });
    this.#tally.sent += 1;
    this.#socket.write(request);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#take(text));
    socket.on('error', () => {});
    socket.on('close', () => this.#lost());
    return socket;
  }

  /** The outcome of unanswered requests is unknown. */
  #lost(): void {
    this.#tally.unanswered += this.outstanding;
    this.#outstanding = [];
    this.#answered = 0;
    this.#received = '';
    if (this.#isClosed) return;
    this.#tally.closed += 1;
    setTimeout(() => {
      if (!this.#isClosed) this.#socket = this.#connect();
    }, 100);
  }

  #take(text: string): void {
    const received = this.#received + text;
    let from = 0;
    for (;;) {
      const headEnd = received.indexOf('\r\n\r\n', from);
      if (headEnd < 0) break;
      const head = received.slice(from, headEnd);
      const end = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (received.length < end) break;
      this.#answer(head);
      from = end;
    }
    this.#received = received.slice(from);
  }

  #answer(head: string): void {
    const sent = this.#outstanding[this.#answered];
    this.#answered += 1;
    if (sent) this.#tally.count(Number(head.slice(9, 12)), sent.id, performance.now() - sent.at, head);
    if (this.#answered < 1024) return;
    this.#outstanding = this.#outstanding.slice(this.#answered);
    this.#answered = 0;
  }
}
