import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { atEndOf, type Owner } from '../support/server-process.ts';

/** A connection to a server on this machine that can be cut, for those that are open and those that are tried. */
export interface CutWire {
  port: number;
  cut(): void;
  heal(): void;
}

export const cutWire = async (owner: Owner, serverPort: number): Promise<CutWire> => {
  const sockets = new Set<Socket>();
  let isCut = false;
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const onward = connect(serverPort, '127.0.0.1');
    for (const socket of [client, onward]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        onward.destroy();
      });
    }
    client.pipe(onward);
    onward.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOf(owner, () => {
    drop();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut: () => {
      isCut = true;
      drop();
    },
    heal: () => {
      isCut = false;
    },
  };
};
