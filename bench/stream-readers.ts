import { connect, type Socket } from 'node:net';

interface Opening {
  port: number;
  keys: string[];
}

let sockets: Socket[] = [];

const opened = (port: number, key: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        `GET /v1/events HTTP/1.1\r\nhost: bench\r\naccept: text/event-stream\r\nauthorization: Bearer ${key}\r\n\r\n`,
      );
    });
    sockets.push(socket);
    socket.on('error', reject);
    socket.once('data', (head) => {
      if (!String(head).startsWith('HTTP/1.1 200')) return reject(new Error(String(head)));
      socket.resume();
      resolve();
    });
  });

process.on('message', async ({ port, keys }: Opening) => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await Promise.all(keys.map((key) => opened(port, key)));
  process.send?.('open');
});
process.on('disconnect', () => process.exit());
