import { Server } from 'node:net';

const LOOPBACK = '127.0.0.1';
const ALL = '0.0.0.0';

/** Sequential, so that each restore puts back the original function. */
let last: Promise<unknown> = Promise.resolve();

/**
 * The server always listens on all addresses. Until it has started, `listen` in this process is patched to bind to
 * loopback.
 */
export const bindToLoopback = <T extends { address: string; stop(): Promise<unknown> }>(
  start: () => Promise<T>,
): Promise<T> => {
  const started = last.then(() => startOnLoopback(start));
  last = started.catch(() => {});
  return started;
};

const startOnLoopback = async <T extends { address: string; stop(): Promise<unknown> }>(
  start: () => Promise<T>,
): Promise<T> => {
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    return Reflect.apply(listen, this, args.map(removeWildcardListen));
  };
  try {
    const server = await start();
    const { hostname } = new URL(server.address);
    if (hostname === LOOPBACK) return server;
    await server.stop();
    throw new Error(`a server that is for this machine alone listens on ${hostname}`);
  } finally {
    Server.prototype.listen = listen;
  }
};

const removeWildcardListen = (argument: unknown): unknown => {
  if (argument === ALL) return LOOPBACK;
  const isOptions = typeof argument === 'object' && argument !== null && 'host' in argument && argument.host === ALL;
  return isOptions ? { ...argument, host: LOOPBACK } : argument;
};
