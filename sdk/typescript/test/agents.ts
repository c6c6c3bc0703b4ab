import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import { deployment } from '../../../test/e2e/deployment.ts';
import { type ConnectOptions, connect, type Parley, type Worker, type WorkerOptions } from '../src/index.ts';

export const { address, admin, adminKey, agent } = await deployment();

export const connectAgent = async (capabilities: string[] = [], options: ConnectOptions = {}): Promise<Parley> => {
  const { key } = await agent('sdk', { dialect: 'native', capabilities });
  return connect({ url: address, key, ...options });
};

/** A requester, and an agent with a capability that nobody else has. */
export const connectPair = async (options: WorkerOptions = { concurrency: 4 }, connection: ConnectOptions = {}) => {
  const capability = `sdk-${randomUUID()}`;
  const [requester, parley] = [await connectAgent(), await connectAgent([capability], connection)];
  return { capability, requester, parley, worker: parley.worker(options) };
};

/** Until the tests of the file end. */
export const run = (worker: Worker): Worker => {
  const done = worker.run({ signals: false });
  done.catch(() => {});
  after(async () => {
    await worker.stop();
    await done.catch(() => {});
  });
  return worker;
};
