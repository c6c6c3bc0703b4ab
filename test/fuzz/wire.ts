import { Buffer } from 'node:buffer';
import { connect, type Socket } from 'node:net';

export interface Answer {
  status: number;
  contentType: string;
  body: string;
}

/** One at a time on one connection. An answer of undefined: the connection ended without one. */
export class Wire {
  readonly #port: number;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.of();
  #waiting: { resolve: (answer: Answer | undefined) => void; isHead: boolean } | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** What is no HTTP is the last thing on its connection. */
  async send(bytes: Buffer, { isRaw, isHead }: { isRaw: boolean; isHead: boolean }): Promise<Answer | undefined> {
    const socket = this.#open();
    const answered = new Promise<Answer | undefined>((resolve) => {
      this.#waiting = { resolve, isHead };
    });
    if (isRaw) socket.end(bytes);
    else socket.write(bytes);
    const answer = await answered;
    if (isRaw) this.close();
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    if (this.#socket && !this.#socket.destroyed && this.#socket.writable) return this.#socket;
    this.#received = Buffer.of();
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    socket.on('data', (data) => {
      this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
      this.#read();
    });
    const onEnd = (): void => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      socket.destroy();
      this.#answer(undefined);
    };
    socket.on('end', onEnd);
    socket.on('close', onEnd);
    socket.on('error', onEnd);
    this.#socket = socket;
    return socket;
  }

  #answer(answer: Answer | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  #read(): void {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#received.toString('latin1', 0, end);
    const status = Number(head.slice(9, 12));
    if (status === 100) {
      this.#received = this.#received.subarray(end + 4);
      this.#read();
      return;
    }
    const header = (name: string): string => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
    const contentType = header('content-type');
    const begin = end + 4;
    // It goes on for as long as somebody reads it.
    if (contentType.includes('event-stream')) {
      this.#answer({ status, contentType, body: '' });
      this.close();
      return;
    }
    const hasBody = !(this.#waiting?.isHead || status === 204 || status === 304);
    const length = hasBody ? Number(header('content-length') || 0) : 0;
    if (this.#received.length < begin + length) return;
    const body = this.#received.toString('utf8', begin, begin + length);
    this.#received = this.#received.subarray(begin + length);
    this.#answer({ status, contentType, body });
    if (/^connection: *close/im.test(head)) this.close();
  }
}
