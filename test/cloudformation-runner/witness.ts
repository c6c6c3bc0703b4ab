import { createServer } from 'node:http';
import { getPort } from '../../local/cloudformation-runner/http/listen.ts';
import { atEndOf, type Owner } from '../support/server-process.ts';

/** Functions tell it what they saw, and a test waits until it has heard enough. */
export interface Witness {
  address: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was told, and fail where it is not there
  heard: any[];
  /** Resolves once the test holds; fails with what was heard instead if that takes too long. */
  until(isEnough: () => boolean): Promise<void>;
}

const PATIENCE_MS = 20_000;

/** To be put into a function's source: tells the witness. */
export const TELL =
  "const tell = (what) => fetch(process.env.WITNESS, { method: 'POST', body: JSON.stringify(what) });";

export const witnessFor = async (owner: Owner): Promise<Witness> => {
  const heard: unknown[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (incoming, outgoing) => {
    let text = '';
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk;
    heard.push(JSON.parse(text));
    outgoing.end();
    for (const look of waiting) look();
  });
  const port = await getPort(server, 0, '127.0.0.1');
  atEndOf(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    address: `http://127.0.0.1:${port}`,
    heard,
    until: (isEnough) =>
      new Promise((resolve, reject) => {
        const tooLong = setTimeout(
          () => reject(new Error(`heard only ${JSON.stringify(heard).slice(0, 2000)}`)),
          PATIENCE_MS,
        );
        const look = (): void => {
          if (!isEnough()) return;
          clearTimeout(tooLong);
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
};
