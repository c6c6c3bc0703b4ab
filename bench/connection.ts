import { connect, type Socket } from 'node:net';

export interface Reply {
  status: number;
  body: string;
}

/** One keep-alive connection with minimal HTTP, because the load generator shares the cores with the server. */
export class Connection {
  readonly #socket: Socket;
  readonly #headers: string;
  #received: Buffer = Buffer.alloc(0);
  #pending: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | undefined;

  constructor(port: number, key: string) {
    this.#headers = `HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#pending?.reject(error));
    this.#socket.on('close', () => this.#pending?.reject(new Error('the server closed the connection')));
  }

  async call(method: string, path: string, body: string, expected: number): Promise<string> {
    const reply = await this.#send(method, path, body);
    if (reply.status === expected) return reply.body;
    throw new Error(`${method} ${path} was answered with ${reply.status}: ${reply.body}`);
  }

  close(): void {
    this.#pending = undefined;
    this.#socket.destroy();
  }

  #send(method: string, path: string, body: string): Promise<Reply> {
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#socket.write(`${method} ${path} ${this.#headers}${length}${body}`);
    });
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const bodyEnd = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < bodyEnd) return;
    const reply = { status: Number(head.slice(9, 12)), body: this.#received.toString('utf8', headEnd + 4, bodyEnd) };
    this.#received = this.#received.subarray(bodyEnd);
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.resolve(reply);
  }
}
