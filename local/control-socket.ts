import { rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Log } from '../shared/kernel/log.ts';

/** For programs of the owner of the data folder: nobody else can open what is in it. */
const SOCKET_FILE = 'control.sock';

export type ControlAnswer<T> = { done: T } | { error: string };

/** Answers each line of JSON with one. A path of 108 bytes and more is none for a socket: then there is none. */
export const serveControl = async (
  dir: string,
  handle: (request: Record<string, unknown>) => Promise<unknown>,
  log: Log,
): Promise<() => Promise<void>> => {
  const path = join(dir, SOCKET_FILE);
  const answer = async (socket: Socket, line: string): Promise<void> => {
    const said: ControlAnswer<unknown> = await Promise.resolve()
      .then(() => handle(JSON.parse(line)))
      .then(
        (done) => ({ done }),
        (error) => ({ error: error instanceof Error ? error.message : String(error) }),
      );
    socket.end(`${JSON.stringify(said)}\n`);
  };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    createInterface({ input: socket }).once('line', (line) => answer(socket, line));
  });
  // The lock of the storage says that whoever left it here has ended.
  rmSync(path, { force: true });
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  } catch (error) {
    log('warn', 'no control socket, so no backup while it runs', { path, error: String(error) });
    return async () => {};
  }
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
};

/** Undefined where no server uses the folder. */
export const callControl = async <T>(dir: string, request: object): Promise<ControlAnswer<T> | undefined> => {
  const socket = createConnection(join(dir, SOCKET_FILE));
  const connected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  });
  if (!connected) return undefined;
  socket.write(`${JSON.stringify(request)}\n`);
  let said = '';
  for await (const piece of socket.setEncoding('utf8')) said += piece;
  if (said === '') return { error: 'The server ended before it answered.' };
  return JSON.parse(said);
};
