import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { atEndOf, type Owner } from './server-process.ts';

/** A connection to a server on this machine, on which what the server says can be held up. */
interface HeldWire {
  port: number;
  hold(): void;
  release(): void;
  /** What was said to the server since it was held up. */
  said(): string;
}

export const heldWire = async (owner: Owner, serverPort: number): Promise<HeldWire> => {
  const sockets = new Set<Socket>();
  let isHeld = false;
  let said = '';
  const server = createServer((client) => {
    const onward = connect(serverPort, '127.0.0.1');
    for (const socket of [client, onward]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        onward.destroy();
      });
    }
    client.on('data', (data) => {
      if (isHeld) said += data.toString('latin1');
      onward.write(data);
    });
    onward.on('data', (data) => (isHeld ? onward.pause() && onward.unshift(data) : client.write(data)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOf(owner, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    hold: () => {
      said = '';
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    said: () => said,
  };
};
