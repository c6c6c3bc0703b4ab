import { createServer, type Server } from 'node:net';

export const getPort = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });

export const findFreePort = async (): Promise<number> => {
  const probe = createServer();
  const port = await getPort(probe, 0, '127.0.0.1');
  await new Promise((resolve) => probe.close(resolve));
  return port;
};
