import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Of what is written at once, Node tells only when all of it was taken: who takes less than this in half a minute is cut off. */
export const PIECE_BYTES = 64 * 1024;

/** Whoever takes nothing in all these looks is cut off. */
const LOOKS = 6;

/** As fast as it is taken. Ends early where the connection does. */
export const writeAll = async (outgoing: ServerResponse, content: string | Uint8Array): Promise<void> => {
  // Of text Node counts the characters that wait, where what was taken is counted in bytes.
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length && !outgoing.destroyed; at += PIECE_BYTES) {
    if (!outgoing.write(bytes.subarray(at, at + PIECE_BYTES))) await waitForDrain(outgoing);
  }
};

/** Cuts off each connection that has something to read and takes none of it for so long, whatever it sends meanwhile. */
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
      // What the system holds for it would otherwise be kept for minutes.
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
