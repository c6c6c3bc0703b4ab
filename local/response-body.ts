import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node reports a write only when all of it is sent. A client slower than this per 30 s is cut off. */
export const PIECE_BYTES = 64 * 1024;

const LOOKS = 6;

export const writeAll = async (outgoing: ServerResponse, content: string | Uint8Array): Promise<void> => {
  // Node counts buffered text in characters but sent data in bytes.
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length && !outgoing.destroyed; at += PIECE_BYTES) {
    if (!outgoing.write(bytes.subarray(at, at + PIECE_BYTES))) await waitForDrain(outgoing);
  }
};

export const cutOffUnread = (server: Server, unreadMs: number): void => {
  const open = new Map<Socket, { taken: number; looks: number }>();
  server.on('connection', (socket) => {
    open.set(socket, { taken: 0, looks: 0 });
    socket.once('close', () => open.delete(socket));
  });
  const look = (): void => {
    for (const [socket, seen] of open) {
      const taken = socket.bytesWritten - socket.writableLength;
      seen.looks = socket.writableLength > 0 && taken === seen.taken ? seen.looks + 1 : 0;
      seen.taken = taken;
      // Without a reset, the kernel keeps the send buffer for minutes.
      if (seen.looks >= LOOKS) socket.resetAndDestroy();
    }
  };
  const looking = setInterval(look, unreadMs / LOOKS).unref();
  server.once('close', () => clearInterval(looking));
};

const waitForDrain = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      outgoing.off('drain', finish);
      outgoing.off('close', finish);
      resolve();
    };
    outgoing.on('drain', finish);
    outgoing.on('close', finish);
  });
